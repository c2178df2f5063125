package io.sparkprobe;

/**
 * Resolves the methods of one chunk into frames of the flush's {@link StackTable}, each at most once.
 *
 * <p>Another chunk of the flush has the same methods under other ids: they are known again by a hash of their names' bytes,
 * which is cheaper than to make and normalise the names again. A flush's first chunk, mostly its only one, does without.
 */
final class ChunkFrames {
    private static final int TYPES = FrameNames.TYPES.length;
    private static final String UNKNOWN = "[unknown]";
    /** Of a method: not looked at yet, its lines are dropped, its lines are kept. */
    private static final byte UNSEEN = 0;
    private static final byte NO_LINES = 1;
    private static final byte LINES = 2;
    /** In place of a frame, for a class that has no name; a map's values are not negative. */
    static final int NO_CLASS = Integer.MAX_VALUE;

    private final JfrChunk chunk;
    private final StackTable table;
    private final boolean cSymbols;
    private final boolean hashed;
    private final byte[] methodLines;
    /** Method ordinal x type -> frame id + 1, for frames without a line. */
    private final int[] methodFrames;
    private final LongIntMap lineFrames = new LongIntMap(256);
    private final LongIntMap classFrames = new LongIntMap(64);

    ChunkFrames(JfrChunk chunk, StackTable table) {
        this.chunk = chunk;
        this.table = table;
        this.cSymbols = chunk.hasCSymbols();
        this.hashed = table.frameCount() > 0;
        this.methodLines = new byte[chunk.methodCount()];
        this.methodFrames = new int[chunk.methodCount() * TYPES];
    }

    int frame(long methodId, int line, int typeId) {
        int type = typeId >= 0 && typeId < FrameNames.CLASS ? typeId : FrameNames.INTERPRETED;
        int method = chunk.method(methodId);
        if (method < 0) {
            return table.frame(FrameNames.TYPES[type], UNKNOWN, 0);
        }
        if (line > 0 && keepsLines(method, type)) {
            long key = ((long) method << 28 | line & 0xfffffff) << 3 | type;
            int id = lineFrames.get(key);
            if (id < 0) {
                id = resolve(method, type, line);
                lineFrames.put(key, id);
            }
            return id;
        }
        int slot = method * TYPES + type;
        int id = methodFrames[slot] - 1;
        if (id < 0) {
            id = resolve(method, type, 0);
            methodFrames[slot] = id + 1;
        }
        return id;
    }

    /** The frame of an allocated or locked class, {@link #NO_CLASS} where there is none. */
    int classFrame(long classId) {
        int frame = classFrames.get(classId);
        if (frame < 0) {
            String name = chunk.className(classId);
            frame = name == null ? NO_CLASS
                    : table.frame(FrameNames.TYPES[FrameNames.CLASS], FrameNames.className(name), 0);
            classFrames.put(classId, frame);
        }
        return frame;
    }

    private int resolve(int method, int type, int line) {
        if (!hashed) {
            return table.frame(FrameNames.TYPES[type], name(method, type), line);
        }
        long hash = FrameNames.push(FrameNames.push(chunk.classHash(method), chunk.methodHash(method)),
                (long) line << 8 | type << 1 | (isC(type) ? 1 : 0));
        int id = table.knownFrame(hash);
        if (id < 0) {
            id = table.frame(FrameNames.TYPES[type], name(method, type), line);
            table.know(hash, id);
        }
        return id;
    }

    private boolean isC(int type) {
        return FrameNames.isNative(type) && (cSymbols || type != FrameNames.NATIVE);
    }

    private boolean keepsLines(int method, int type) {
        if (methodLines[method] == UNSEEN) {
            methodLines[method] = NO_LINES;
            if (!isC(type) && classKeepsLines(method)) {
                methodLines[method] = LINES;
            }
        }
        return methodLines[method] == LINES;
    }

    private boolean classKeepsLines(int method) {
        long hash = hashed ? chunk.classHash(method) : 0;
        int known = hashed ? table.knownLines(hash) : -1;
        if (known < 0) {
            String name = className(method);
            known = !name.isEmpty() && FrameNames.keepsLines(name) ? 1 : 0;
            if (hashed) {
                table.knowLines(hash, known);
            }
        }
        return known == 1;
    }

    private String className(int method) {
        String name = chunk.methodClassName(method);
        return name == null || name.isEmpty() ? "" : FrameNames.className(name);
    }

    private String name(int method, int type) {
        String name = chunk.methodName(method);
        if (isC(type)) {
            return name == null || name.isEmpty() ? UNKNOWN : FrameNames.nativeName(name);
        }
        String className = className(method);
        if (className.isEmpty()) {
            return name == null || name.isEmpty() ? UNKNOWN : name;
        }
        return name == null || name.isEmpty() ? className : className + '.' + name;
    }
}
