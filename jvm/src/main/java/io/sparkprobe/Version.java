package io.sparkprobe;

/** The version of this jar, as the build wrote it into the manifest. */
final class Version {
    static final int FORMAT = 1;

    private Version() {
    }

    static String jar() {
        String version = Version.class.getPackage().getImplementationVersion();
        return version == null ? "unknown" : version;
    }
}
