"""The way from Python into the driver's JVM: py4j, our jar in its class loader, and clear words where it is barred."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spark_probe._version import __version__
from spark_probe.errors import SessionError
from spark_probe.jar import jar_path

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["CONF_WAY", "attach_object", "context_of", "jvm_errors", "load_jar"]

PLUGIN = "io.sparkprobe.SparkProbePlugin"

#: What works wherever a cluster can be configured.
CONF_WAY = (
    f"start the application with --conf spark.plugins={PLUGIN} --jars <jar> "
    "(`spark-probe conf` prints the lines), and read the run folder with spark_probe.load"
)


def context_of(spark: SparkSession) -> SparkContext:
    """The SparkContext of a running session.

    Raises:
        SessionError: a Spark Connect session, a stopped one, or a gateway that lets nothing through.
    """
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise SessionError(
            "this is a Spark Connect session: its client has no JVM, so it cannot attach a profiler. "
            f"On the Connect server, {CONF_WAY}"
        )
    try:
        sc = spark.sparkContext
        stopped = sc._jsc is None or sc._jsc.sc().isStopped()
    except Exception as error:
        raise _barred(error) from error
    if stopped:
        raise SessionError("this Spark session has been stopped; make a new one, then enable it")
    return sc


@contextmanager
def jvm_errors() -> Iterator[None]:
    """Turns what py4j raises into `SessionError`, its message without the Java stack."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

    try:
        yield
    except Py4JJavaError as error:
        java = error.java_exception
        raise SessionError(str(java.getMessage() or java.toString())) from error
    except Py4JNetworkError as error:
        raise SessionError("the driver's JVM does not answer any more; has it ended?") from error
    except Py4JError as error:
        raise _barred(error) from error


def _barred(error: Exception) -> SessionError:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return SessionError(
        f"Python may not reach the driver's JVM here ({reason}); shared and serverless clusters "
        f"restrict it. In the cluster's own configuration, {CONF_WAY}"
    )


def _class(loader: Any, name: str) -> Any:
    """A class by its name, or None where the loader does not know it."""
    from py4j.protocol import Py4JJavaError

    try:
        return loader.loadClass(name)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() == "ClassNotFoundException":
            return None
        raise


def load_jar(jvm: Any, fallback: Any = None) -> Any:
    """A class loader of the driver that has our jar; the jar is added to Spark's own where it is not there yet.

    Spark's loader is that of the thread, or one above it. It lives as long as the JVM, and so the native library is
    loaded once, however often profiling is started.
    """
    context = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if _class(context, PLUGIN) is not None:
        return context
    url = jvm.java.net.URL(jar_path().as_uri())
    loader = context
    while loader is not None:
        if loader.getClass().getSimpleName().endswith("MutableURLClassLoader"):
            loader.addURL(url)
            return context
        loader = loader.getParent()
    if fallback is None:
        raise SessionError(
            f"the driver's JVM was started without the jar and its class loader takes none; {CONF_WAY}"
        )
    if _class(fallback, PLUGIN) is None:
        fallback.addURL(url)
    return fallback


def attach_object(spark: SparkSession, sc: SparkContext) -> Any:
    """An object of ``io.sparkprobe.Attach`` in the driver, of our own version.

    Raises:
        SessionError: another version of the jar is in that JVM already.
    """
    jvm, gateway = sc._jvm, sc._gateway
    assert jvm is not None
    assert gateway is not None
    # The loader of SQL's `ADD JAR`, for drivers whose threads have another kind of loader.
    fallback = spark._jsparkSession.sharedState().jarClassLoader()
    loader = load_jar(jvm, fallback)
    none = gateway.new_array(jvm.java.lang.Class, 0)
    no_values = gateway.new_array(jvm.java.lang.Object, 0)
    attach = loader.loadClass("io.sparkprobe.Attach").getConstructor(none).newInstance(no_values)
    version = attach.version()
    if version != __version__:
        raise SessionError(
            f"the driver's JVM has the jar of spark_probe {version}, Python has {__version__}; "
            "a JVM keeps the classes it has loaded, so restart the session with one version"
        )
    return attach
