# make demo    profiles a real Spark job and says where its report is
# make test    every test of the JVM half, and of the Python half on two versions of Spark
# make check   formatting, linting, types, Java 8's API, the page's JavaScript, what git tracks
# make bench   the benchmarks at full length (an hour or two, on a machine that does nothing else)
# make slow    the tests on real sessions and clusters, on a machine that does nothing else
# make matrix  the tests that take too long for every change: all clusters, ways to start, Sparks and JDKs
#
# Each does its own set-up: what the machine lacks (a JDK, Gradle, a browser) comes from Debian's packages, the rest from
# PyPI, npm and Maven Central. A second run finds it done.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test check bench slow matrix jar setup test-jvm test-other-spark test-python clean

PYTHON ?= python3
export PYTHON

# The newest Spark is the one that `pip install pyspark` gives; the oldest supported one has an environment of its own.
SPARK ?= 4.3.0
OTHER_SPARK ?= 3.5.9
VENV := .venv
OTHER_VENV := .venv-spark-$(OTHER_SPARK)
READY := $(VENV)/.ready-spark-$(SPARK)
OTHER_READY := $(OTHER_VENV)/.ready
NODE_READY := tests/js/node_modules/.ready

VERSION := $(shell sed -n 's/^version=//p' gradle.properties)
JAR := spark_probe/jars/spark-probe-$(VERSION).jar
JAVA_SOURCES := $(shell find jvm/src/main) build.gradle settings.gradle gradle.properties
GRADLE := gradle --no-daemon --console=plain
JS := spark_probe/report/assets
STEADY := tests/test_eventlog_spark.py tests/test_report_browser.py tests/test_package.py
ESLINT := tests/js/node_modules/.bin/eslint

# Spark binds the address that the host's name resolves to, and in a container it may not resolve.
export SPARK_LOCAL_IP := 127.0.0.1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

demo: $(READY) $(JAR)
	$(VENV)/bin/python examples/flights.py

test: test-jvm test-other-spark test-python

test-jvm: $(READY)
	$(GRADLE) test

# Of the slow tests those whose outcome does not hang on how busy the machine is.
test-other-spark: $(OTHER_READY) $(JAR)
	$(OTHER_VENV)/bin/python -m pytest -m "not slow and not by_hand"
	$(OTHER_VENV)/bin/python -m pytest tests/test_eventlog_spark.py

test-python: $(READY) $(JAR)
	.ci/need browser node
	$(VENV)/bin/python -m pytest -m "slow and not by_hand" $(STEADY)
	$(VENV)/bin/python -m pytest -m "not slow and not by_hand"

# On real sessions and clusters: those marked every_spark on both Sparks.
slow: $(READY) $(OTHER_READY) $(JAR)
	$(OTHER_VENV)/bin/python -m pytest -m "slow and every_spark and not by_hand"
	$(VENV)/bin/python -m pytest -m "slow and not by_hand"

matrix: $(READY) $(OTHER_READY) $(JAR)
	$(OTHER_VENV)/bin/python -m pytest tests/test_matrix.py
	$(VENV)/bin/python -m pytest tests/test_matrix.py

check: $(READY) $(NODE_READY)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(GRADLE) classes testClasses
	$(ESLINT) --config tests/js/eslint.config.mjs --max-warnings 0 $(JS) tests/js
	.ci/tracked

bench: $(READY) $(JAR)
	$(VENV)/bin/python -m benchmarks.overhead
	$(VENV)/bin/python -m benchmarks.eventlog --history-server
	$(VENV)/bin/python -m benchmarks.merge

setup: $(READY) $(OTHER_READY) $(JAR) $(NODE_READY)

jar: $(JAR)

$(JAR): $(JAVA_SOURCES)
	.ci/need jdk gradle
	$(GRADLE) -q jar
	mkdir -p $(@D)
	rm -f $(@D)/*.jar
	cp build/libs/$(@F) $@

# pip keeps its downloads, and the wheel that it makes of pyspark's archive (400 MB), in its own cache
# (with --use-pep517: else an old pip makes no wheel).
$(READY): PYSPARK := $(SPARK)
$(OTHER_READY): PYSPARK := $(OTHER_SPARK)
$(READY) $(OTHER_READY): pyproject.toml gradle.properties Makefile | $(JAR)
	.ci/need jdk venv
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install -q --use-pep517 -e '.[dev]' pyspark==$(PYSPARK)
	touch $@

$(NODE_READY): tests/js/package-lock.json
	.ci/need node
	npm ci --silent --prefix tests/js
	touch $@

clean:
	rm -rf build .gradle $(VENV) $(OTHER_VENV) spark_probe/jars tests/js/node_modules
