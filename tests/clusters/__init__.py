"""Real Spark for the tests: driver processes, standalone, YARN and HDFS on loopback, each ended by its own pid."""
