#!/usr/bin/env bash
# The same routes lead calls of gRPC clients in Python (C core) and Node to different clusters, although both accept them:
# - a condition on query parameters, which gRPC calls do not have: Python ignores the route; Node only the condition, so
#   that the route takes every call;
# - a header whose name is written in upper case: in Node it matches as in Envoy, in Python never;
# - the pseudo-header :path: in Python it matches as in Envoy, in Node never;
# - a domain in lower case for a target in upper case: Python ignores case, as Envoy does; Node compares exactly.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "grpcio==1.85.3" "xds-protos==1.85.0" "protobuf==7.36.2"
npm install --silent --no-audit --no-fund --prefix "$folder" @grpc/grpc-js@1.14.7 @grpc/grpc-js-xds@1.14.1
cat > "$folder/call.mjs" <<'JS'
import { credentials, Client, Metadata, status } from "@grpc/grpc-js";
import { register } from "@grpc/grpc-js-xds";
register();
const [target, method, ...headers] = process.argv.slice(2);
const client = new Client(target, credentials.createInsecure());
const metadata = new Metadata();
for (const header of headers) metadata.set(...header.split("="));
const same = (bytes) => bytes;
const options = { deadline: Date.now() + 5_000 };
client.makeUnaryRequest(method, same, same, Buffer.alloc(0), metadata, options, (error, answer) => {
  console.log(error ? status[error.code] : String(answer));
  process.exit(0);
});
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

# Services with two routes: a condition that leads to the first cluster, and all else, to the second one.
conditions = {
    "query-parameter": {"prefix": "", "query_parameters": [{"name": "q", "string_match": {"exact": "x"}}]},
    "header-name-in-upper-case": {"prefix": "", "headers": [{"name": "Tenant", "string_match": {"exact": "a"}}]},
    "pseudo-header-path": {"prefix": "", "headers": [{"name": ":path", "string_match": {"exact": "/test/call"}}]},
    "header-in-lower-case": {"prefix": "", "headers": [{"name": "tenant", "string_match": {"exact": "a"}}]},
}

def virtual_hosts(service):
    if service == "Domain": return [
        {"name": "lower", "domains": ["domain"], "routes": [{"match": {"prefix": ""}, "route": {"cluster": "first"}}]},
        {"name": "any", "domains": ["*"], "routes": [{"match": {"prefix": ""}, "route": {"cluster": "second"}}]}]
    return [{"name": "all", "domains": ["*"], "routes": [
        {"match": conditions[service], "route": {"cluster": "first"}},
        {"match": {"prefix": ""}, "route": {"cluster": "second"}}]}]

def resource(kind, name):
    if kind == "Listener":
        return {"name": name, "api_listener": {"api_listener": {
            "@type": manager,
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "rds": {"route_config_name": name, "config_source": {"ads": {}}}}}}
    if kind == "RouteConfiguration":
        return {"name": name, "virtual_hosts": virtual_hosts(name)}
    if kind == "Cluster":
        return {"name": name, "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}
    return {"cluster_name": name, "endpoints": [{"locality": {"region": "r"}, "load_balancing_weight": 1,
        "lb_endpoints": [{"endpoint": {"address": {"socket_address":
            {"address": "127.0.0.1", "port_value": ports[name]}}}}]}]}

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
    """The server of configuration, and the servers of both clusters, each of which answers with its name."""
    def __init__(self, name): self.name = name.encode()
    def service(self, call):
        if call.method.endswith("/StreamAggregatedResources"):
            return grpc.stream_stream_rpc_method_handler(discovery,
                discovery_pb2.DiscoveryRequest.FromString, discovery_pb2.DiscoveryResponse.SerializeToString)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.name)

servers, ports = [], {}
for name in ("first", "second"):
    server = grpc.server(futures.ThreadPoolExecutor(32))
    server.add_generic_rpc_handlers((Services(name),))
    ports[name] = server.add_insecure_port("127.0.0.1:0")
    server.start()
    servers.append(server)
os.environ["GRPC_XDS_BOOTSTRAP_CONFIG"] = json.dumps({"node": {"id": "client", "locality": {}}, "xds_servers": [
    {"server_uri": f"127.0.0.1:{ports['first']}", "channel_creds": [{"type": "insecure"}],
     "server_features": ["xds_v3"]}]})

def by_python(service, method, headers):
    with grpc.insecure_channel(f"xds:///{service}") as channel:
        try:
            metadata = [tuple(header.split("=")) for header in headers]
            return channel.unary_unary(method)(b"", timeout=5, metadata=metadata).decode()
        except grpc.RpcError as error:
            return error.code().name

def by_node(service, method, headers):
    return subprocess.run(["node", f"{folder}/call.mjs", f"xds:///{service}", method, *headers],
        stdout=subprocess.PIPE, check=True, timeout=60, text=True).stdout.strip()

expected = {
    "header-in-lower-case": ("first", "first"),
    "query-parameter": ("second", "first"),
    "header-name-in-upper-case": ("second", "first"),
    "pseudo-header-path": ("first", "second"),
    "Domain": ("first", "second"),
}
found = {name: tuple(call(name, "/test/call", ["tenant=a"]) for call in (by_python, by_node)) for name in expected}
print(f"{'target':<28}{'Python ' + grpc.__version__:<16}Node, grpc-js 1.14.7 and grpc-js-xds 1.14.1")
for name, (python, node) in found.items(): print(f"{name:<28}{python:<16}{node}")
for server in servers: server.stop(0)
sys.exit(0 if found == expected else 1)
PY
GRPC_VERBOSITY=NONE "$folder/venv/bin/python" "$folder/run.py" "$folder"
