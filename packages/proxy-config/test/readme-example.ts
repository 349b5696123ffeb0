import { deepEqual, equal, match } from "node:assert/strict";
import { clusters, clusterTable, formatTable, readConfigDump, secretsJson } from "@istiod/proxy-config";

// A response of Envoy's /config_dump, with a private key that must not be printed.
const text = JSON.stringify({
  configs: [
    {
      "@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
      dynamic_active_clusters: [
        {
          cluster: {
            "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            name: "outbound|80|v2|cart.shop.svc.cluster.local",
            type: "EDS",
            metadata: {
              filter_metadata: {
                istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/destination-rule/cart" },
              },
            },
          },
        },
        {
          cluster: {
            "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
            name: "BlackHoleCluster",
            type: "STATIC",
          },
        },
      ],
    },
    {
      "@type": "type.googleapis.com/envoy.admin.v3.SecretsConfigDump",
      dynamic_active_secrets: [
        {
          name: "default",
          secret: {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
            name: "default",
            tls_certificate: { private_key: { inline_string: "-----BEGIN PRIVATE KEY-----" } },
          },
        },
      ],
    },
  ],
});
const dump = readConfigDump(text);

equal(
  formatTable(clusterTable(clusters(dump))),
  [
    "SERVICE FQDN                    PORT     SUBSET     DIRECTION     TYPE       DESTINATION RULE",
    "BlackHoleCluster                -        -          -             STATIC     ",
    "cart.shop.svc.cluster.local     80       v2         outbound      EDS        cart.shop",
    "",
  ].join("\n"),
);
const subset = clusters(dump, { fqdn: "cart", subset: "v2" });
deepEqual(
  subset.map(({ json }) => json["type"]),
  ["EDS"],
);
match(JSON.stringify(secretsJson(dump)), /"privateKey":\{"inlineString":"\[redacted\]"\}/);
