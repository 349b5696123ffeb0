#!/bin/sh
# Fetches Prometheus by the system's package client and unpacks it into build/. Nothing is installed into the system.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/download
cd build/download
apt-get download prometheus || { apt-get update; apt-get download prometheus; }
dpkg -x prometheus_*.deb ..
