package io.sparkprobe;

/** Resolves the stacks of one chunk into the flush's {@link StackTable}, each at most once. */
final class ChunkStacks {
    /** async-profiler's jstackdepth is 2048 unless told; what is deeper than this is damage, and loses its roots. */
    private static final int MAX_DEPTH = 1 << 16;
    private static final int JIT_FRAMES = 10;

    private final JfrChunk chunk;
    private final StackTable table;
    private final JfrCursor at;
    private final ChunkFrames frames;
    /** Stack ordinal -> table index + 1; 0 where it was not asked for yet. */
    private final int[] resolved;
    /** The same for stacks cut to their roots; null until one is asked for. */
    private int[] resolvedRoots;
    private final LongIntMap resolvedWithLeaf = new LongIntMap(64);
    private int[] scratch = new int[512];
    private int noStack = -1;

    ChunkStacks(JfrChunk chunk, StackTable table) {
        this.chunk = chunk;
        this.table = table;
        this.at = chunk.cursor(0);
        this.frames = new ChunkFrames(chunk, table);
        this.resolved = new int[chunk.stackCount()];
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
     * handler's frames are cut off. {@link StackTable#IN_HANDLER} where nothing is known beyond them.
     */
    int cpuStack(long stackId) {
        return table.withoutHandler(stack(stackId));
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
        int leaf = frames.classFrame(classId);
        if (leaf == ChunkFrames.NO_CLASS) {
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
            scratch[from + i] = frames.frame(method, line, at.readVarInt());
        }
        return from + depth;
    }
}
