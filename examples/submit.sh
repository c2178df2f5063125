#!/usr/bin/env bash
# Profiles a job without touching it: the plugin and its jar are given to spark-submit. Works with any master, in
# client and cluster mode, for a job in any language.
#
#   examples/submit.sh                                          # the flights example
#   examples/submit.sh --master yarn --deploy-mode cluster my_job.py
#
# Afterwards: spark-probe report spark-probe/<application id> -o report.html
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if [ $# -eq 0 ]; then
    set -- --master 'local[4]' "$here/flights.py" --no-probe
fi

# DebugNonSafepoints lets the JVM tell the exact line of compiled code, not the next safepoint's.
options='-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints'
exec spark-submit \
    --jars "$(spark-probe jar)" \
    --conf spark.plugins=io.sparkprobe.SparkProbePlugin \
    --conf spark.probe.dir="${SPARK_PROBE_DIR:-spark-probe}" \
    --conf spark.driver.extraJavaOptions="$options" \
    --conf spark.executor.extraJavaOptions="$options" \
    "$@"
