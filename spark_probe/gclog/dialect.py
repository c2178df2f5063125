"""Which JVM wrote a log. What cannot be read is named, never guessed at."""

from __future__ import annotations

import re

from spark_probe.gclog.errors import GcLogError

__all__ = ["CLASSIC", "UNIFIED", "sniff"]

UNIFIED = "unified"
CLASSIC = "classic"

_STAMP = rb"(?:\d{4}-\d\d-\d\dT[\d:.,]+[+-]\d{4}: )?(?:#\d+: )?(?:\d+[.,]\d+: )?(?:#\d+: )?"
_UNIFIED = re.compile(
    rb"(?m)^.*\]\s*GC\(\d+\) |^ *GC\(\d+\) +(?:[YyO]: )?(?:Pause|Concurrent|Garbage|Minor|Major|Using)"
    rb"|\]\[gc[ ,\]]|^\[gc[ ,\]]"
    rb"|^(?:\[[^\]\n]*\])* *Using (?:Serial|Parallel|G1|Shenandoah|Concurrent Mark Sweep|The Z Garb)"
    rb"|^\[[\d.,]+s\](?:\[[^\]\n]*\])*\[(?:safepoint|gc)"
)
_CLASSIC = re.compile(
    rb"(?m)^(?:.*[\s:}])?\[(?:Full |Inc )?GC(?:--)?(?:[\s(\[]|\d|AdaptiveSize|Before|pause)"
    rb"|^" + _STAMP + rb"\[(?:AS)?CMS-concurrent-"
    rb"|^" + _STAMP + rb"\[(?:Pause|Concurrent) [^\]\n]*(?:, start|, [\d.,]+ ms)\]"
    rb"|GC log file created|^CommandLine flags: -XX"
    rb"|^(?:OpenJDK|Java HotSpot\(TM\)) .*VM \(\d+\.[\w.-]+\) for "
    rb"|^ *\{?Heap (?:before|after) GC invocations="
    rb"|^Cancelling concurrent GC: |^Shenandoah Heap$"
)
# Other JVMs' logs: a pattern, and what it is.
_FOREIGN = (
    (rb"<verbosegc|<gc-start |<exclusive-start |<af type=", "an IBM J9 / OpenJ9 verbose GC log"),
    (rb"(?m)^<AF\[\d+\]: |^<GC\(\d+\): |<GC\[\d+\]: ", "an IBM JDK 1.2 to 1.4 verbose GC log"),
    (rb"(?m)^<GC: +-?\d", "an HP-UX JDK log (-Xverbosegc)"),
    (rb"\[ ?memory ?\] |\[memdbg ?\]|<JRockit|\[JRockit\]", "a JRockit log"),
    (rb"(?m)^GC\[\d+\](?::| in \d+ ms)", "a JDK 1.2 verbose GC log"),
    (rb"(?m)^GC: (?:initializing|initial heap|GC #)", "an IBM i JDK log"),
    (rb"\[\d+:0x[0-9a-f]+\] +\d+ ms: (?:Scavenge|Mark-)", "a V8 (Node.js) --trace-gc log"),
    (rb"(?m)^gc \d+ @[\d.]+s \d+%: ", "a Go gctrace log"),
    (rb"GPGC |\bZing\b.*gc log", "an Azul Zing (GPGC) log"),
    (rb"(?:concurrent copying|mark sweep) GC freed \d+", "an Android runtime log"),
)
_FOREIGN_PATTERNS = [(re.compile(pattern), name) for pattern, name in _FOREIGN]


def sniff(data: bytes, path: str) -> str | None:
    """`UNIFIED`, `CLASSIC`, or None where these lines do not tell.

    Raises:
        GcLogError: these lines are another runtime's GC log, which it names.
    """
    # Most logs tell in their first lines, and a search that fails is slow.
    unified = classic = None
    for size in (64 << 10, len(data)):
        unified, classic = _UNIFIED.search(data, 0, size), _CLASSIC.search(data, 0, size)
        if unified or classic:
            break
    if unified and (not classic or unified.start() <= classic.start()):
        return UNIFIED
    if classic:
        return CLASSIC
    for pattern, name in _FOREIGN_PATTERNS:
        if pattern.search(data):
            raise GcLogError(
                f"{path} is {name}, which spark_probe does not read; it reads HotSpot's own logs: "
                "-Xlog:gc* (JDK 9 and later) or -XX:+PrintGCDetails (JDK 8 and before)"
            )
    return None
