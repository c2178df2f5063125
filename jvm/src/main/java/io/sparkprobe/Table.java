package io.sparkprobe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** One table of a flush as column buffers of primitive arrays; a row is complete when each column has a value more. */
final class Table {
    final String name;
    final List<Column> columns = new ArrayList<>();

    Table(String name) {
        this.name = name;
    }

    int rows() {
        return columns.get(0).size;
    }

    Longs ints(String column) {
        return add(new Longs(column, Type.INT32, Packing.PLAIN));
    }

    Longs longs(String column) {
        return add(new Longs(column, Type.INT64, Packing.PLAIN));
    }

    Longs longs(String column, Packing packing) {
        return add(new Longs(column, Type.INT64, packing));
    }

    /** Numbers that mostly grow by one. */
    Longs sequence(String column) {
        return add(new Longs(column, Type.INT32, Packing.DELTA));
    }

    Longs booleans(String column) {
        return add(new Longs(column, Type.BOOLEAN, Packing.PLAIN));
    }

    Doubles doubles(String column) {
        return add(new Doubles(column));
    }

    /** Strings of few distinct values. */
    Strings strings(String column) {
        return add(new Strings(column, Packing.DICTIONARY));
    }

    /** Strings that come sorted. */
    Strings sortedStrings(String column) {
        return add(new Strings(column, Packing.DELTA));
    }

    IntLists intLists(String column) {
        return add(new IntLists(column));
    }

    /** Columns that say the same for many rows on end. */
    Runs intRuns(String column) {
        return add(new Runs(column, Type.INT32));
    }

    Runs longRuns(String column) {
        return add(new Runs(column, Type.INT64));
    }

    Runs stringRuns(String column) {
        return add(new Runs(column, Type.STRING));
    }

    private <C extends Column> C add(C column) {
        columns.add(column);
        return column;
    }

    enum Type { INT32, INT64, DOUBLE, BOOLEAN, STRING, INT32_LIST }

    /** How values are laid out before they are compressed: what made files of real jobs smallest. */
    enum Packing { PLAIN, DELTA, DICTIONARY }

    abstract static class Column {
        final String name;
        final Type type;
        final Packing packing;
        int size;

        Column(String name, Type type, Packing packing) {
            this.name = name;
            this.type = type;
            this.packing = packing;
        }

        abstract boolean isNull(int row);
    }

    /** Whole numbers and booleans. {@link #NULL} is null: no time, size or count takes it, and a hash once in 2^64. */
    static final class Longs extends Column {
        static final long NULL = Long.MIN_VALUE;
        private long[] values = new long[16];

        Longs(String name, Type type, Packing packing) {
            super(name, type, packing);
        }

        void add(long value) {
            if (size == values.length) {
                values = Arrays.copyOf(values, size * 2);
            }
            values[size++] = value;
        }

        long get(int row) {
            return values[row];
        }

        @Override
        boolean isNull(int row) {
            return values[row] == NULL;
        }
    }

    static final class Doubles extends Column {
        private double[] values = new double[16];

        Doubles(String name) {
            super(name, Type.DOUBLE, Packing.PLAIN);
        }

        void add(double value) {
            if (size == values.length) {
                values = Arrays.copyOf(values, size * 2);
            }
            values[size++] = value;
        }

        double get(int row) {
            return values[row];
        }

        @Override
        boolean isNull(int row) {
            return Double.isNaN(values[row]);
        }
    }

    /** Strings, each held once. */
    static final class Strings extends Column {
        private final Map<String, Integer> codes = new HashMap<>();
        private final List<String> distinct = new ArrayList<>();
        private int[] values = new int[16];

        Strings(String name, Packing packing) {
            super(name, Type.STRING, packing);
        }

        void add(String value) {
            if (size == values.length) {
                values = Arrays.copyOf(values, size * 2);
            }
            values[size++] = value == null ? -1 : code(value);
        }

        private int code(String value) {
            Integer known = codes.get(value);
            if (known != null) {
                return known;
            }
            codes.put(value, distinct.size());
            distinct.add(value);
            return distinct.size() - 1;
        }

        /** Index into {@link #distinct}, -1 of null. */
        int codeAt(int row) {
            return values[row];
        }

        List<String> distinct() {
            return distinct;
        }

        String get(int row) {
            return values[row] < 0 ? null : distinct.get(values[row]);
        }

        @Override
        boolean isNull(int row) {
            return values[row] < 0;
        }
    }

    static final class IntLists extends Column {
        private int[] ends = new int[16];
        private int[] values = new int[256];

        IntLists(String name) {
            super(name, Type.INT32_LIST, Packing.PLAIN);
        }

        /** Opens the next row, as an empty list. */
        void start() {
            if (size == ends.length) {
                ends = Arrays.copyOf(ends, size * 2);
            }
            ends[size] = start(size);
            size++;
        }

        /** Appends to the row opened last. */
        void push(int value) {
            int end = ends[size - 1]++;
            if (end == values.length) {
                values = Arrays.copyOf(values, end * 2);
            }
            values[end] = value;
        }

        int start(int row) {
            return row == 0 ? 0 : ends[row - 1];
        }

        int end(int row) {
            return ends[row];
        }

        int get(int index) {
            return values[index];
        }

        @Override
        boolean isNull(int row) {
            return false;
        }
    }

    /** Values that come in runs: whole numbers as Long, or strings, none of them null. */
    static final class Runs extends Column {
        private final Map<Object, Integer> codes = new LinkedHashMap<>();
        private int[] runCodes = new int[16];
        private int[] runLengths = new int[16];
        private int runs;

        Runs(String name, Type type) {
            super(name, type, Packing.DICTIONARY);
        }

        void add(Object value, int times) {
            if (times == 0) {
                return;
            }
            size += times;
            int code = codes.computeIfAbsent(value, v -> codes.size());
            if (runs > 0 && runCodes[runs - 1] == code) {
                runLengths[runs - 1] += times;
                return;
            }
            if (runs == runCodes.length) {
                runCodes = Arrays.copyOf(runCodes, runs * 2);
                runLengths = Arrays.copyOf(runLengths, runs * 2);
            }
            runCodes[runs] = code;
            runLengths[runs++] = times;
        }

        int runs() {
            return runs;
        }

        int runCode(int run) {
            return runCodes[run];
        }

        int runLength(int run) {
            return runLengths[run];
        }

        /** In the order of their codes. */
        Collection<Object> distinct() {
            return codes.keySet();
        }

        /** The value of each row. */
        Object[] values() {
            Object[] byCode = codes.keySet().toArray();
            Object[] values = new Object[size];
            int row = 0;
            for (int run = 0; run < runs; run++) {
                int end = row + runLengths[run];
                Arrays.fill(values, row, end, byCode[runCodes[run]]);
                row = end;
            }
            return values;
        }

        @Override
        boolean isNull(int row) {
            return false;
        }
    }
}
