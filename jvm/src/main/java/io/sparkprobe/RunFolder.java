package io.sparkprobe;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The run folder of one application on any Hadoop file system. A file appears under its final name only when it is
 * whole: it is written aside and renamed.
 */
final class RunFolder {
    private final FileSystem fs;
    private final Path root;

    private RunFolder(FileSystem fs, Path root) {
        this.fs = fs;
        this.root = root;
    }

    /**
     * Opens the folder, with a file system of its own: Hadoop's shutdown hook would close a shared one before the last
     * flush is out.
     */
    static RunFolder open(Path root, Configuration hadoop) throws IOException {
        Configuration conf = new Configuration(hadoop);
        conf.setBoolean("fs.automatic.close", false);
        FileSystem fs = FileSystem.newInstance(root.toUri(), conf);
        if (fs instanceof LocalFileSystem) {
            // Without the checksum files that Hadoop puts beside each local file.
            fs = ((LocalFileSystem) fs).getRawFileSystem();
        }
        return new RunFolder(fs, fs.makeQualified(root));
    }

    Path root() {
        return root;
    }

    boolean isLocal() {
        return root.toUri().getScheme().equals("file");
    }

    static String executorFolder(String executorId) {
        StringBuilder name = new StringBuilder("executors/");
        for (byte b : executorId.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean plain = c < 128 && (Character.isLetterOrDigit(c) || c == '-' || c == '_' || c == '.');
            name.append(plain ? String.valueOf(c) : String.format("%%%02X", (int) c));
        }
        return name.toString();
    }

    void createFolder(String relative) throws IOException {
        Path folder = new Path(root, relative);
        if (!fs.mkdirs(folder)) {
            throw new IOException("cannot create " + folder);
        }
    }

    void write(String relative, byte[] content) throws IOException {
        Path target = new Path(root, relative);
        Path aside = new Path(target.getParent(), "." + target.getName() + ".tmp");
        try (OutputStream out = fs.create(aside, true)) {
            out.write(content);
        }
        if (!fs.rename(aside, target)) {
            // HDFS does not replace by rename. Only status.json and run.json are ever written again.
            fs.delete(target, false);
            if (!fs.rename(aside, target)) {
                throw new IOException("cannot rename " + aside + " to " + target);
            }
        }
    }

    byte[] read(String relative) throws IOException {
        Path file = new Path(root, relative);
        byte[] content = new byte[(int) fs.getFileStatus(file).getLen()];
        try (FSDataInputStream in = fs.open(file)) {
            in.readFully(0, content);
        }
        return content;
    }

    boolean exists(String relative) throws IOException {
        return fs.exists(new Path(root, relative));
    }

    void delete(String relative) throws IOException {
        fs.delete(new Path(root, relative), false);
    }

    void close() throws IOException {
        fs.close();
    }
}
