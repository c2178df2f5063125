package io.sparkprobe;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One chunk of a JFR file: its header, its types, and indexes of its constant pools. Ids mean something only inside it.
 *
 * <p>Nothing is decoded but what is asked for: an index holds where a constant lies, so that the heap taken does not
 * grow with the size of the chunk's stacks. A pool that cannot be read whole is kept as far as it was read, and
 * {@link #damage} says why.
 */
final class JfrChunk {
    static final int HEADER_BYTES = 68;
    private static final int MAGIC = 0x464c5200; // "FLR\0"
    private static final int FEATURE_COMPRESSED_INTS = 1;

    final ByteBuffer bytes;
    /** Wall clock at the chunk's start, in ns since the epoch, and length; both of microsecond grain. */
    final long startEpochNs;
    final long durationNs;
    final long startTicks;
    final long ticksPerSec;
    final JfrTypes types;
    /** What is wrong with the pools, or null. */
    final String damage;

    private final JfrCursor at;
    private final IdIndex threads = new IdIndex();
    private String[] threadNames = new String[64];
    private long[] javaThreadIds = new long[64];
    private final IdIndex stacks = new IdIndex();
    private int[] stackPositions = new int[1024];
    private final IdIndex methods = new IdIndex();
    private long[] methodClasses = new long[1024];
    private long[] methodNames = new long[1024];
    private final IdIndex classes = new IdIndex();
    private long[] classNames = new long[256];
    private final long[] classHashes;
    private final LongIntMap symbols = new LongIntMap(1024);
    private final LongIntMap strings = new LongIntMap(256);
    private final Map<Long, String> threadStates = new HashMap<>();
    private final Map<Long, String> frameTypes = new HashMap<>();

    /**
     * Reads header, metadata and pools.
     *
     * @param chunk the chunk between the buffer's position and its limit, or more: the header has the size
     * @param before another chunk of the file, or null: its types are taken if they are the same
     * @throws JfrFormatException if it is no chunk, not whole, or has no readable metadata
     */
    JfrChunk(ByteBuffer chunk, JfrChunk before) {
        ByteBuffer view = chunk.slice().order(ByteOrder.BIG_ENDIAN);
        if (view.limit() < HEADER_BYTES || view.getInt(0) != MAGIC) {
            throw new JfrFormatException("no JFR chunk: " + view.limit() + " bytes that do not start with FLR");
        }
        int major = view.getShort(4);
        if (major != 2) {
            throw new JfrFormatException("JFR version " + major + "; only version 2 is read");
        }
        long size = view.getLong(8);
        long poolPosition = view.getLong(16);
        long metadataPosition = view.getLong(24);
        if (size < HEADER_BYTES || size > view.limit() || poolPosition < HEADER_BYTES || poolPosition >= size
                || metadataPosition < HEADER_BYTES || metadataPosition >= size) {
            throw new JfrFormatException("an incomplete chunk: the header names " + size + " bytes, constants at "
                    + poolPosition + " and metadata at " + metadataPosition + ", and " + view.limit() + " are there");
        }
        if ((view.getInt(64) & FEATURE_COMPRESSED_INTS) == 0) {
            throw new JfrFormatException("a chunk with uncompressed integers");
        }
        view.limit((int) size);
        bytes = view;
        startEpochNs = view.getLong(32);
        durationNs = view.getLong(40);
        startTicks = view.getLong(48);
        ticksPerSec = view.getLong(56);
        if (ticksPerSec <= 0) {
            throw new JfrFormatException("a clock of " + ticksPerSec + " ticks a second");
        }
        at = cursor((int) metadataPosition);
        try {
            types = JfrTypes.read(at, before == null ? null : before.types);
        } catch (IndexOutOfBoundsException e) {
            throw new JfrFormatException("metadata that ends in the middle");
        }
        String fault = null;
        try {
            readPools(poolPosition);
        } catch (JfrFormatException | IndexOutOfBoundsException e) {
            fault = "constant pool: " + e.getMessage();
        }
        damage = fault;
        classHashes = new long[classes.size()];
    }

    /** The size in bytes that the header at a position names, or -1 where no chunk starts there. */
    static long size(ByteBuffer buffer, int position) {
        if (buffer.limit() - position < HEADER_BYTES || buffer.getInt(position) != MAGIC) {
            return -1;
        }
        return buffer.getLong(position + 8);
    }

    JfrCursor cursor(int position) {
        JfrCursor cursor = new JfrCursor(bytes);
        cursor.position = position;
        return cursor;
    }

    /** Ordinal of a thread by the id that events carry, or -1. */
    int thread(long id) {
        return threads.get(id);
    }

    int threadCount() {
        return threads.size();
    }

    /** The Java name, else the native one; may be null. */
    String threadName(int thread) {
        return threadNames[thread];
    }

    /** 0 for a thread that is not a Java thread. */
    long javaThreadId(int thread) {
        return javaThreadIds[thread];
    }

    /** Ordinal of a stack, or -1. */
    int stack(long id) {
        return stacks.get(id);
    }

    int stackCount() {
        return stacks.size();
    }

    /** Where the stack's number of frames stands; the frames follow, leaf first: method, line, bci, type. */
    int stackPosition(int stack) {
        return stackPositions[stack];
    }

    /** Ordinal of a method, or -1. */
    int method(long id) {
        return methods.get(id);
    }

    int methodCount() {
        return methods.size();
    }

    String methodName(int method) {
        return symbol(methodNames[method]);
    }

    String methodClassName(int method) {
        return className(methodClasses[method]);
    }

    /** A hash of the bytes of a method's name, the same in every chunk; 0 where it has none. */
    long methodHash(int method) {
        return textHash(symbols.get(methodNames[method]));
    }

    /** The same of its class's name. */
    long classHash(int method) {
        int index = classes.get(methodClasses[method]);
        if (index < 0) {
            return 0;
        }
        if (classHashes[index] == 0) {
            classHashes[index] = textHash(symbols.get(classNames[index]));
        }
        return classHashes[index];
    }

    private long textHash(int position) {
        if (position < 0) {
            return 0;
        }
        at.position = position;
        at.skipString();
        int end = at.position;
        at.position = position;
        long hash = FrameNames.STACK_HASH_START;
        while (at.position < end) {
            hash = FrameNames.push(hash, at.readByte());
        }
        return hash;
    }

    /** Internal name of a class, {@code java/util/List} or {@code [B}; null where there is none. */
    String className(long classId) {
        int index = classes.get(classId);
        return index < 0 ? null : symbol(classNames[index]);
    }

    /** A string of the pool, or null. */
    String string(long id) {
        return stringAt(strings.get(id));
    }

    private String symbol(long id) {
        return stringAt(symbols.get(id));
    }

    private String stringAt(int position) {
        if (position < 0) {
            return null;
        }
        at.position = position;
        return at.readString(null);
    }

    /** STATE_DEFAULT, STATE_RUNNABLE, … or null. */
    String threadState(long id) {
        return threadStates.get(id);
    }

    /** Whether frames of type "native" are C functions, as async-profiler writes them, and not Java's native methods. */
    boolean hasCSymbols() {
        return frameTypes.containsKey((long) FrameNames.KERNEL);
    }

    private void readPools(long lastCheckpoint) {
        long position = lastCheckpoint;
        long delta;
        do {
            if (position < HEADER_BYTES || position >= bytes.limit()) {
                throw new JfrFormatException("no checkpoint at " + position);
            }
            at.position = (int) position;
            at.readVarInt(); // size of the event
            at.readVarInt(); // its type
            at.skipVarLong(); // start time
            at.skipVarLong(); // duration
            delta = at.readVarLong();
            at.readVarInt(); // flush, header or statics
            for (int n = at.readCount(2); n > 0; n--) {
                long typeId = at.readVarLong();
                JfrTypes.Type type = types.byId(typeId);
                if (type == null) {
                    throw new JfrFormatException("constants of an undeclared type " + typeId + " at " + at.position);
                }
                readPool(type);
            }
            if (delta > 0) {
                throw new JfrFormatException("checkpoints that point forward");
            }
            position += delta; // to the checkpoint before this one
        } while (delta != 0);
    }

    private void readPool(JfrTypes.Type type) {
        int count = at.readCount(1);
        switch (type.name) {
            case "jdk.types.StackTrace":
                readStacks(count);
                break;
            case "jdk.types.Method":
                readMethods(type, count);
                break;
            case "java.lang.Class":
                readClasses(type, count);
                break;
            case "java.lang.Thread":
                readThreads(type, count);
                break;
            case "jdk.types.Symbol":
                readTexts(symbols, count);
                break;
            case "java.lang.String":
                readTexts(strings, count);
                break;
            case "jdk.types.ThreadState":
                readNames(threadStates, count);
                break;
            case "jdk.types.FrameType":
                readNames(frameTypes, count);
                break;
            default:
                for (int i = 0; i < count; i++) {
                    at.skipVarLong();
                    types.skip(at, type, 0);
                }
        }
    }

    private void readStacks(int count) {
        int index = stacks.size();
        stackPositions = Arrays.copyOf(stackPositions, Math.max(stackPositions.length, index + count));
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            at.skipVarLong(); // whether it was cut
            int position = at.position;
            at.skipVarLongs(4 * at.readCount(4));
            if (stacks.get(id) < 0) {
                stacks.put(id, index);
                stackPositions[index++] = position;
            }
        }
    }

    private void readMethods(JfrTypes.Type type, int count) {
        int classField = type.field("type");
        int nameField = type.field("name");
        int index = methods.size();
        int capacity = Math.max(methodClasses.length, index + count);
        methodClasses = Arrays.copyOf(methodClasses, capacity);
        methodNames = Arrays.copyOf(methodNames, capacity);
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            boolean fresh = methods.get(id) < 0;
            if (fresh) {
                methods.put(id, index);
            }
            for (int f = 0; f < type.fields.size(); f++) {
                if (fresh && f == classField) {
                    methodClasses[index] = at.readVarLong();
                } else if (fresh && f == nameField) {
                    methodNames[index] = at.readVarLong();
                } else {
                    types.skip(at, type.fields.get(f), 0);
                }
            }
            index = methods.size();
        }
    }

    private void readClasses(JfrTypes.Type type, int count) {
        int nameField = type.field("name");
        classNames = Arrays.copyOf(classNames, Math.max(classNames.length, classes.size() + count));
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            int index = classes.get(id);
            if (index < 0) {
                index = classes.size();
                classes.put(id, index);
            }
            for (int f = 0; f < type.fields.size(); f++) {
                if (f == nameField) {
                    classNames[index] = at.readVarLong();
                } else {
                    types.skip(at, type.fields.get(f), 0);
                }
            }
        }
    }

    private void readThreads(JfrTypes.Type type, int count) {
        List<JfrTypes.Field> fields = type.fields;
        int capacity = Math.max(threadNames.length, threads.size() + count);
        threadNames = Arrays.copyOf(threadNames, capacity);
        javaThreadIds = Arrays.copyOf(javaThreadIds, capacity);
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            int index = threads.get(id);
            if (index < 0) {
                index = threads.size();
                threads.put(id, index);
            }
            String osName = null;
            String javaName = null;
            for (JfrTypes.Field field : fields) {
                switch (field.name) {
                    case "osName":
                        osName = at.readString(null);
                        break;
                    case "javaName":
                        javaName = at.readString(null);
                        break;
                    case "javaThreadId":
                        javaThreadIds[index] = at.readVarLong();
                        break;
                    default:
                        types.skip(at, field, 0);
                }
            }
            threadNames[index] = javaName != null ? javaName : osName;
        }
    }

    private void readTexts(LongIntMap positions, int count) {
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            positions.put(id, at.position);
            at.skipString();
        }
    }

    private void readNames(Map<Long, String> names, int count) {
        for (int i = 0; i < count; i++) {
            long id = at.readVarLong();
            names.put(id, at.readString(null));
        }
    }
}
