#!/usr/bin/env bash
# gRPC clients with the C core (here Python) end calls one to two seconds before the `max_stream_duration` of a route:
# with 4 s after two to three, and with 1 s every call fails at once. Clients in Node wait for the time that is stated,
# as gRFC A31 has it. A deadline of the caller is kept exactly by both.
# Seen with one xDS server on the loopback interface, whose routes differ only in the time, and a method of 300 ms.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "grpcio==1.85.3" "xds-protos==1.85.0" "protobuf==7.36.2"
npm install --silent --no-audit --no-fund --prefix "$folder" @grpc/grpc-js@1.14.7 @grpc/grpc-js-xds@1.14.1
cat > "$folder/call.mjs" <<'JS'
import { credentials, Client, status } from "@grpc/grpc-js";
import { register } from "@grpc/grpc-js-xds";
register();
const [target, method] = process.argv.slice(2);
const client = new Client(target, credentials.createInsecure());
const same = (bytes) => bytes;
const call = (path) =>
  new Promise((resolve) => {
    const options = { deadline: Date.now() + 20_000 };
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), options, (error) =>
      resolve(status[error?.code ?? status.OK]));
  });
// The first call connects, so that it does not count.
await call("/test/unlimited");
const start = Date.now();
const code = await call(method);
console.log(JSON.stringify([code, (Date.now() - start) / 1000]));
process.exit(0);
JS
cat > "$folder/run.py" <<'PY'
import json, os, subprocess, sys, time
from concurrent import futures
import grpc
from google.protobuf import json_format
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.service.discovery.v3 import discovery_pb2

folder = sys.argv[1]
types = "type.googleapis.com/envoy."
manager = types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

def resource(kind, name):
    if kind == "Listener":
        return {"name": name, "api_listener": {"api_listener": {
            "@type": manager,
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "route_config": {"name": "routes", "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                {"match": {"path": f"/test/limit-{seconds}"},
                 "route": {"cluster": "server", "max_stream_duration": {"max_stream_duration": f"{seconds}s"}}}
                for seconds in (1, 4)] + [{"match": {"prefix": ""}, "route": {"cluster": "server"}}]}]}}}}
    if kind == "Cluster":
        return {"name": name, "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}
    return {"cluster_name": name, "endpoints": [{"locality": {"region": "r"}, "load_balancing_weight": 1,
        "lb_endpoints": [{"endpoint": {"address": {"socket_address":
            {"address": "127.0.0.1", "port_value": port}}}}]}]}

def discovery(requests, _):
    sent = {}
    for request in requests:
        names = list(request.resource_names)
        if names == sent.get(request.type_url): continue
        sent[request.type_url] = names
        kind = request.type_url.split(".")[-1]
        yield json_format.ParseDict({"version_info": "1", "nonce": "1", "type_url": request.type_url,
            "resources": [{"@type": request.type_url, **resource(kind, name)} for name in names]},
            discovery_pb2.DiscoveryResponse())


class Services(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method.endswith("/StreamAggregatedResources"):
            return grpc.stream_stream_rpc_method_handler(discovery,
                discovery_pb2.DiscoveryRequest.FromString, discovery_pb2.DiscoveryResponse.SerializeToString)
        seconds = 8 if call.method in ("/test/limit-4", "/test/deadline") else 0.3
        return grpc.unary_unary_rpc_method_handler(lambda request, context: time.sleep(seconds) or b"")

server = grpc.server(futures.ThreadPoolExecutor(32))
server.add_generic_rpc_handlers((Services(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
os.environ["GRPC_XDS_BOOTSTRAP_CONFIG"] = json.dumps({"node": {"id": "client", "locality": {}}, "xds_servers": [
    {"server_uri": f"127.0.0.1:{port}", "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}]})
channel = grpc.insecure_channel("xds:///service")

def by_python(method, timeout=20):
    try:
        channel.unary_unary(method)(b"", timeout=timeout)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name

def by_node(method):
    return json.loads(subprocess.run(["node", f"{folder}/call.mjs", "xds:///service", method],
        stdout=subprocess.PIPE, check=True, timeout=60).stdout)

def timed(call):
    start = time.monotonic()
    return call(), time.monotonic() - start

by_python("/test/unlimited")
found = {
    "Python, no limit": timed(lambda: by_python("/test/unlimited")),
    "Python, limit of 1 s": timed(lambda: by_python("/test/limit-1")),
    "Python, limit of 4 s": timed(lambda: by_python("/test/limit-4")),
    "Python, deadline of 4 s": timed(lambda: by_python("/test/deadline", 4)),
    "Node, limit of 1 s": by_node("/test/limit-1"),
    "Node, limit of 4 s": by_node("/test/limit-4"),
}
print(f"grpcio {grpc.__version__}, grpc-js 1.14.7 with grpc-js-xds 1.14.1; calls take 0.3 s, those to 4 s longer")
for name, (code, seconds) in found.items(): print(f"{name:<26}{code:<20}after {seconds:.1f} s")
codes = [code for code, _ in found.values()]
times = [seconds for _, seconds in found.values()]
server.stop(0)
sys.exit(0 if codes == ["OK", "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED", "OK", "DEADLINE_EXCEEDED"]
         and times[1] < 0.3 and 1.5 < times[2] < 3.5 and times[3] >= 3.9 and times[5] >= 3.9 else 1)
PY
GRPC_VERBOSITY=NONE "$folder/venv/bin/python" "$folder/run.py" "$folder"
