package io.sparkprobe;

import java.util.HashMap;
import java.util.Map;

/** Resolves the stacks of one chunk into the flush's {@link StackTable}, each stack and method at most once. */
final class ChunkStacks {
    private static final int TYPES = FrameNames.TYPES.length;
    /** Of a method: not looked at yet, its lines are dropped, its lines are kept. */
    private static final byte UNSEEN = 0;
    private static final byte NO_LINES = 1;
    private static final byte LINES = 2;
    private static final String UNKNOWN = "[unknown]";
    /** async-profiler's jstackdepth is 2048 unless told; what is deeper than this is damage, and loses its roots. */
    private static final int MAX_DEPTH = 1 << 16;
    private static final int JIT_FRAMES = 10;
    /** In place of a frame, for an event that names no class; a map's values are not negative. */
    private static final int NO_CLASS = Integer.MAX_VALUE;
    /** Answer for a stack of which only async-profiler's own signal handler is known. */
    static final int IN_HANDLER = -2;
    private static final String HANDLER = "WallClock::signalHandler";
    /** Where the kernel returns to from a handler, in glibc and in the vdso of arm64. */
    private static final String[] HANDLER_CALLERS = {"__restore_rt", "__kernel_rt_sigreturn"};

    private final JfrChunk chunk;
    private final StackTable table;
    private final JfrCursor at;
    private final boolean cSymbols;
    /** Stack ordinal -> table index + 1; 0 where it was not asked for yet. */
    private final int[] resolved;
    /** The same for stacks cut to their roots; null until one is asked for. */
    private int[] resolvedRoots;
    private final LongIntMap resolvedWithLeaf = new LongIntMap(64);
    private final byte[] methodLines;
    /** Method ordinal x type -> frame id + 1, for frames without a line. */
    private final int[] methodFrames;
    private final LongIntMap lineFrames = new LongIntMap(256);
    private final LongIntMap leafFrames = new LongIntMap(64);
    private int[] scratch = new int[512];
    private int noStack = -1;
    /** Whether the chunk has a frame of the handler at all, and what cpu stacks are without it. */
    private boolean handlerSeen;
    private final Map<Integer, Integer> belowHandler = new HashMap<>();

    ChunkStacks(JfrChunk chunk, StackTable table) {
        this.chunk = chunk;
        this.table = table;
        this.at = chunk.cursor(0);
        this.cSymbols = chunk.hasCSymbols();
        this.resolved = new int[chunk.stackCount()];
        this.methodLines = new byte[chunk.methodCount()];
        this.methodFrames = new int[chunk.methodCount() * TYPES];
    }

    /** Table index of a stack; of {@link StackTable#NO_STACK} where the chunk does not hold it. */
    int stack(long stackId) {
        int ordinal = chunk.stack(stackId);
        if (ordinal < 0) {
            return noStack();
        }
        int index = resolved[ordinal] - 1;
        if (index < 0) {
            int depth = decode(ordinal, 0);
            index = depth == 0 ? noStack() : table.stack(scratch, depth);
            resolved[ordinal] = index + 1;
        }
        return index;
    }

    /**
     * The same for a cpu sample, which may have come while async-profiler's handler of the wall signal was to run: the
     * handler's frames are cut off. {@link #IN_HANDLER} where nothing is known beyond them.
     */
    int cpuStack(long stackId) {
        int index = stack(stackId);
        if (!handlerSeen) {
            return index;
        }
        Integer below = belowHandler.get(index);
        if (below == null) {
            below = cutHandler(index);
            belowHandler.put(index, below);
        }
        return below;
    }

    /** Frames of a table's stack are root first. */
    private int cutHandler(int index) {
        for (int i = table.start(index); i < table.end(index); i++) {
            if (!table.frameName(table.frames()[i]).equals(HANDLER)) {
                continue;
            }
            int depth = i - table.start(index);
            if (depth > 0 && isHandlerCaller(table.frameName(table.frames()[i - 1]))) {
                depth--;
            }
            if (depth == 0) {
                return IN_HANDLER;
            }
            if (depth >= scratch.length) {
                scratch = new int[depth + 1];
            }
            for (int k = 0; k < depth; k++) {
                scratch[k] = table.frames()[table.start(index) + depth - 1 - k];
            }
            return table.stack(scratch, depth);
        }
        return index;
    }

    private static boolean isHandlerCaller(String name) {
        for (String caller : HANDLER_CALLERS) {
            if (caller.equals(name)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Table index of a stack cut to its {@link #JIT_FRAMES} frames nearest the root: compiler, and phase. What lies
     * below is C++ that nobody using Spark can act on, and no two such stacks are alike.
     */
    int jitStack(long stackId) {
        int ordinal = chunk.stack(stackId);
        if (ordinal < 0) {
            return noStack();
        }
        if (resolvedRoots == null) {
            resolvedRoots = new int[chunk.stackCount()];
        }
        int index = resolvedRoots[ordinal] - 1;
        if (index < 0) {
            int depth = decode(ordinal, 0);
            int cut = Math.max(0, depth - JIT_FRAMES);
            System.arraycopy(scratch, cut, scratch, 0, depth - cut);
            index = depth == 0 ? noStack() : table.stack(scratch, depth - cut);
            resolvedRoots[ordinal] = index + 1;
        }
        return index;
    }

    /** Table index of a stack with the allocated or locked class as its leaf. */
    int stack(long stackId, long classId) {
        int leaf = leafFrames.get(classId);
        if (leaf < 0) {
            leaf = leafFrame(classId);
            leafFrames.put(classId, leaf);
        }
        if (leaf == NO_CLASS) {
            return stack(stackId);
        }
        int ordinal = chunk.stack(stackId);
        long key = (long) ordinal << 32 | leaf;
        int index = resolvedWithLeaf.get(key);
        if (index < 0) {
            int depth = ordinal < 0 ? 1 : decode(ordinal, 1);
            if (depth == 1) {
                scratch[depth++] = table.marker(StackTable.NO_STACK);
            }
            scratch[0] = leaf;
            index = table.stack(scratch, depth);
            resolvedWithLeaf.put(key, index);
        }
        return index;
    }

    private int leafFrame(long classId) {
        String name = chunk.className(classId);
        return name == null ? NO_CLASS
                : table.frame(FrameNames.TYPES[FrameNames.CLASS], FrameNames.className(name), 0);
    }

    boolean isNoStack(int index) {
        return index == noStack;
    }

    /** Table index of {@link StackTable#NO_STACK} alone. */
    int noStack() {
        if (noStack < 0) {
            scratch[0] = table.marker(StackTable.NO_STACK);
            noStack = table.stack(scratch, 1);
        }
        return noStack;
    }

    /** Frame ids of a stack into the scratch array from an index on, leaf first; the index after the last. */
    private int decode(int ordinal, int from) {
        at.position = chunk.stackPosition(ordinal);
        int depth = Math.min(at.readCount(4), MAX_DEPTH - from - 1);
        if (from + depth >= scratch.length) {
            scratch = new int[from + depth + 1];
        }
        for (int i = 0; i < depth; i++) {
            long method = at.readVarLong();
            int line = at.readVarInt();
            at.skipVarLong(); // bytecode index
            scratch[from + i] = frame(method, line, at.readVarInt());
        }
        return from + depth;
    }

    private int frame(long methodId, int line, int typeId) {
        int type = typeId >= 0 && typeId < FrameNames.CLASS ? typeId : FrameNames.INTERPRETED;
        int method = chunk.method(methodId);
        if (method < 0) {
            return table.frame(FrameNames.TYPES[type], UNKNOWN, 0);
        }
        if (methodLines[method] == UNSEEN) {
            methodLines[method] = keepsLines(method, type) ? LINES : NO_LINES;
        }
        if (line > 0 && methodLines[method] == LINES) {
            long key = ((long) method << 28 | line & 0xfffffff) << 3 | type;
            int id = lineFrames.get(key);
            if (id < 0) {
                id = table.frame(FrameNames.TYPES[type], name(method, type), line);
                lineFrames.put(key, id);
            }
            return id;
        }
        int slot = method * TYPES + type;
        int id = methodFrames[slot] - 1;
        if (id < 0) {
            id = table.frame(FrameNames.TYPES[type], name(method, type), 0);
            methodFrames[slot] = id + 1;
        }
        return id;
    }

    private boolean isC(int type) {
        return FrameNames.isNative(type) && (cSymbols || type != FrameNames.NATIVE);
    }

    private boolean keepsLines(int method, int type) {
        if (isC(type)) {
            return false;
        }
        String className = chunk.methodClassName(method);
        return className != null && !className.isEmpty() && FrameNames.keepsLines(FrameNames.className(className));
    }

    private String name(int method, int type) {
        String name = chunk.methodName(method);
        if (isC(type)) {
            handlerSeen |= HANDLER.equals(name);
            return name == null || name.isEmpty() ? UNKNOWN : FrameNames.nativeName(name);
        }
        String className = chunk.methodClassName(method);
        if (className == null || className.isEmpty()) {
            return name == null || name.isEmpty() ? UNKNOWN : name;
        }
        String normalised = FrameNames.className(className);
        return name == null || name.isEmpty() ? normalised : normalised + '.' + name;
    }
}
