import { type FieldTable, istioObject, type Position } from "./field-table.js";

const long = (length: number): string => "x".repeat(length);
const control = ["a\nb", "a\0b", "a\rb"];
const jwks =
  '{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}';

const rules: Readonly<Record<string, Position>> = Object.fromEntries(
  Object.entries({ "the workload's namespace": "shop", "the root namespace": "istio-system" }).map(
    ([where, namespace]) => [
      where,
      {
        objects: (rule: object) => [
          istioObject(
            "RequestAuthentication",
            { jwtRules: [{ issuer: "a", jwks, ...rule }] },
            { namespace, group: "security" },
          ),
        ],
        path: "jwtRules.0",
      },
    ],
  ),
);

export const authentication: readonly FieldTable[] = [
  {
    part: "a JWT rule",
    positions: rules,
    rows: [
      { field: "issuer", accepted: ["a", "é", "%", ...control, long(20_000)], refusedByApi: [""] },
      { field: "audiences.0", accepted: ["a", "é", ...control, long(20_000)], refusedByApi: [""] },
      {
        field: "fromHeaders.0.name",
        accepted: ["x-a", "X-A", "a b", ":path", "é", long(5_000)],
        refused: ["", ...control],
      },
      {
        field: "fromHeaders.0.prefix",
        beside: { fromHeaders: [{ name: "x-a" }] },
        accepted: ["", "Bearer ", "é", long(5_000)],
        refused: control,
      },
      { field: "fromParams.0", accepted: ["a", "a b", "é", ...control], refusedByApi: [""] },
      { field: "fromCookies.0", accepted: ["a", "a b", "é", ...control], refusedByApi: [""] },
      { field: "outputPayloadToHeader", accepted: ["", "x-a", "a b", "é", ":path", long(5_000)], refused: control },
      {
        field: "outputClaimToHeaders.0.header",
        beside: { outputClaimToHeaders: [{ claim: "a" }] },
        accepted: ["x-a", "X_A", long(5_000)],
        refused: ["", ...control],
        refusedByApi: ["a b", "é", ":path"],
      },
      {
        field: "outputClaimToHeaders.0.claim",
        beside: { outputClaimToHeaders: [{ header: "x-a" }] },
        accepted: ["a", "a.b", "é", ...control],
        refused: [""],
      },
      { field: "spaceDelimitedClaims.0", accepted: ["a", "é"], refusedByApi: [""] },
      {
        field: "timeout",
        accepted: ["0.001s", "1s", "9223372035s"],
        refusedByApi: ["0s", "-1s", "9223372036s", "1.5sx"],
      },
    ],
  },
];
