#!/bin/sh
# Fetches Zipkin's server by Maven into build/.
set -eu
cd "$(dirname "$0")/.."
mvn -q -B dependency:copy -Dartifact=io.zipkin:zipkin-server:3.5.1:jar:exec -DoutputDirectory=build -Dmdep.stripVersion=true
