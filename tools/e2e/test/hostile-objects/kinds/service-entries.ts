import fc from "fast-check";
import { networking, object } from "./manifest.js";
import { addresses, from, hosts, labels, list, numbers, ports, protocols, some, texts } from "../values.js";

export const serviceEntry = object(
  networking,
  "ServiceEntry",
  some(
    {
      hosts: list(hosts, 3),
      addresses: list(addresses, 3),
      ports: list(
        some({ number: ports, name: from("http", "tcp", "HTTP", "a"), protocol: protocols, targetPort: ports }, [
          "number",
          "name",
        ]),
        3,
      ),
      location: from("MESH_EXTERNAL", "MESH_INTERNAL"),
      resolution: from("NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"),
      endpoints: list(
        some(
          {
            address: from(
              "192.0.2.1",
              "a.example.com",
              "unix:///a",
              "unix://@a",
              "fe80::1%eth0",
              "::1",
              "unix:///" + "a".repeat(200),
              "A.example.com.",
              "",
            ),
            ports: fc.dictionary(from("http", "tcp"), ports, { maxKeys: 2 }),
            labels,
            locality: texts,
            weight: numbers,
            network: texts,
            serviceAccount: texts,
          },
          ["address"],
        ),
        3,
      ),
      subjectAltNames: list(texts),
      exportTo: list(from("*", "."), 1),
    },
    ["hosts"],
  ),
);
