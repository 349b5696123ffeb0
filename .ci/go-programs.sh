#!/usr/bin/env bash
# Builds the programs in Go and Java that tests need, by the sources of packages, which are not built yet. Helm is the
# second, because it shares most libraries with the API server. The program in Java takes Maven some seconds.
node --conditions=@istiod/source --import tsx tools/cluster/src/main.ts install ||
  echo "no API server could be built: the tests that need one are skipped and named"
node --conditions=@istiod/source --import tsx tools/manifests/src/main.ts install-helm ||
  echo "no Helm could be built: the tests that need one are skipped and named"
node --conditions=@istiod/source --import tsx tools/proxyless/src/install-go.ts ||
  echo "no gRPC client in Go could be built: the tests that need one are skipped and named"
node --conditions=@istiod/source --import tsx tools/proxyless/src/install-java.ts ||
  echo "no gRPC client in Java could be built: the tests that need one are skipped and named"
npm run -s zipkin:install || echo "no Zipkin could be fetched: the tests that need it are skipped and named"
npm run -s collector:install || echo "no OpenTelemetry collector could be built: the tests that need it are skipped and named"
