/** Values of `meshConfig.pathNormalization.normalization`, in the order of the columns. */
export const pathNormalizations = ["NONE", "DEFAULT", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"] as const;

/** A policy, and the decisions on targets of requests. */
export interface PathTable {
  readonly policy: object;
  /** In each line a target, as it is in the request line, and its decision for each normalization. */
  readonly rows: string;
}

/** A decision of the table: the policy's, or the status of requests that Envoy answers before. */
export type PathDecision = "allow" | "deny" | "400" | "404";

const paths = (...values: readonly string[]): readonly object[] => [{ to: [{ operation: { paths: values } }] }];

/** Decisions on targets with which callers try to evade policies. */
export const pathTables: Readonly<Record<string, PathTable>> = {
  "DENY /admin, /admin/*": {
    policy: { action: "DENY", rules: paths("/admin", "/admin/*") },
    rows: String.raw`
/admin                            deny   deny   deny   deny   deny
/admin/                           deny   deny   deny   deny   deny
/admin/x                          deny   deny   deny   deny   deny
/administrator                    allow  allow  allow  allow  allow
/ADMIN                            allow  allow  allow  allow  allow
/Admin/x                          allow  allow  allow  allow  allow
/admin?                           deny   deny   deny   deny   deny
/admin?x=1                        deny   deny   deny   deny   deny
/x?/admin                         allow  allow  allow  allow  allow
/x?p=/admin                       allow  allow  allow  allow  allow
/?/../admin                       allow  allow  allow  allow  allow
//admin                           allow  allow  allow  deny   deny
/admin//x                         deny   deny   deny   deny   deny
///admin                          allow  allow  allow  deny   deny
/x//admin                         allow  allow  allow  allow  allow
/admin//                          deny   deny   deny   deny   deny
//admin//x                        allow  allow  allow  deny   deny
/./admin                          allow  deny   deny   deny   deny
/x/../admin                       allow  deny   deny   deny   deny
/x/./../admin                     allow  deny   deny   deny   deny
/admin/.                          deny   deny   deny   deny   deny
/admin/..                         deny   allow  allow  allow  allow
/admin/../x                       deny   allow  allow  allow  allow
/admin/../admin                   deny   deny   deny   deny   deny
/../admin                         allow  deny   deny   deny   deny
/../../admin                      allow  deny   deny   deny   deny
/x/../../admin                    allow  deny   deny   deny   deny
/.//admin                         allow  allow  allow  deny   deny
/x//../admin                      allow  allow  allow  allow  allow
/x/..//admin                      allow  allow  allow  deny   deny
/%61dmin                          allow  deny   deny   deny   deny
/adm%69n                          allow  deny   deny   deny   deny
/%41dmin                          allow  allow  allow  allow  allow
/admin%2fx                        allow  allow  allow  allow  deny
/admin%2Fx                        allow  allow  allow  allow  deny
/admin%2f                         allow  allow  allow  allow  deny
/%2fadmin                         allow  allow  allow  allow  deny
/%2Fadmin                         allow  allow  allow  allow  deny
/x%2f..%2fadmin                   allow  allow  allow  allow  deny
/x/%2e%2e/admin                   allow  deny   deny   deny   deny
/x/%2E%2E/admin                   allow  deny   deny   deny   deny
/x/.%2e/admin                     allow  deny   deny   deny   deny
/x/%2e./admin                     allow  deny   deny   deny   deny
/%2e/admin                        allow  deny   deny   deny   deny
/x%2F..%2Fadmin                   allow  allow  allow  allow  deny
/x/..%2fadmin                     allow  allow  allow  allow  deny
/x/%2e%2e%2fadmin                 allow  allow  allow  allow  deny
/public%2f..%2fadmin              allow  allow  allow  allow  deny
/%2561dmin                        allow  allow  allow  allow  allow
/x/%252e%252e/admin               allow  allow  allow  allow  allow
/%252fadmin                       allow  allow  allow  allow  allow
/admin%252fx                      allow  allow  allow  allow  allow
/x%252f..%252fadmin               allow  allow  allow  allow  allow
/admin;x                          allow  allow  allow  allow  allow
/admin;x=1/y                      allow  allow  allow  allow  allow
/;/admin                          allow  allow  allow  allow  allow
/x;/../admin                      allow  deny   deny   deny   deny
/x/..;/admin                      allow  deny   deny   deny   deny
/x/..;a=b/admin                   allow  deny   deny   deny   deny
/x/.;/admin                       allow  allow  allow  allow  allow
/.;/admin                         allow  deny   deny   deny   deny
/admin;/x                         allow  allow  allow  allow  allow
/x/%2e%2e;/admin                  allow  allow  allow  allow  allow
/..;/admin                        allow  deny   deny   deny   deny
/x/..%3b/admin                    allow  allow  allow  allow  allow
\admin                            400    400    400    400    400
/\admin                           allow  allow  allow  deny   deny
/x\..\admin                       allow  deny   deny   deny   deny
/x/..\admin                       allow  deny   deny   deny   deny
/admin\x                          allow  deny   deny   deny   deny
/admin\                           allow  deny   deny   deny   deny
/x%5c..%5cadmin                   allow  allow  allow  allow  deny
/x%5C..%5Cadmin                   allow  allow  allow  allow  deny
/%5cadmin                         allow  allow  allow  allow  deny
/admin%5cx                        allow  allow  allow  allow  deny
/admin#f                          400    400    400    400    400
/x#/admin                         400    400    400    400    400
/admin%23f                        allow  allow  allow  allow  allow
/x#/../admin                      400    400    400    400    400
http://web.shop/admin             deny   deny   deny   deny   deny
http://web.shop//admin            allow  allow  allow  deny   deny
http://web.shop/x/../admin        allow  deny   deny   deny   deny
HTTP://web.shop/admin             deny   deny   deny   deny   deny
http://other/admin                deny   deny   deny   deny   deny
http://web.shop/x?/admin          allow  allow  allow  allow  allow
http://web.shop                   allow  allow  allow  allow  allow
http://web.shop?/admin            404    404    404    404    404
http://user@web.shop/admin        deny   deny   deny   deny   deny
http://web.shop:8080/admin        deny   deny   deny   deny   deny
http://[::1]/admin                deny   deny   deny   deny   deny
http://web.shop:x/admin           400    400    400    400    400
http://web.shop:65536/admin       400    400    400    400    400
http://web_shop/admin             400    400    400    400    400
http:///admin                     400    400    400    400    400
http:/admin                       400    400    400    400    400
ftp://web.shop/admin              400    400    400    400    400
http://web.shop%2f/admin          400    400    400    400    400
?/admin                           400    400    400    400    400
;/admin                           400    400    400    400    400
/x/..;%00/admin                   allow  deny   deny   deny   deny
/..;%00/admin                     allow  deny   deny   deny   deny
/x/..;a%00b/admin                 allow  deny   deny   deny   deny
/x/..;a=%00                       allow  allow  allow  allow  allow
/admin/x/..;%00                   deny   deny   deny   deny   deny
/x/.;%00/admin                    allow  allow  allow  allow  allow
/.;%00/admin                      allow  deny   deny   deny   deny
/x;%00/../admin                   allow  400    400    400    400
/x/%2e%2e;%00/admin               allow  400    400    400    400
/x/..;%2f/admin                   allow  deny   deny   deny   deny
/x/..;%2f..%2f/admin              allow  deny   deny   deny   deny
/x/..;%5c/admin                   allow  deny   deny   deny   deny
/x/..;%2e/admin                   allow  deny   deny   deny   deny
/x/..;%zz/admin                   allow  deny   deny   deny   deny
/x/..;%/admin                     allow  deny   deny   deny   deny
/x/..;\y/../admin                 allow  deny   deny   deny   deny
/x/..;;/admin                     allow  deny   deny   deny   deny
/x/...;/admin                     allow  allow  allow  allow  allow
/x/..;?/admin                     allow  allow  allow  allow  allow
/admin/..;%00?x                   deny   allow  allow  allow  allow
/..;%0/admin                      allow  deny   deny   deny   deny
/x%00/admin                       allow  400    400    400    400
/x/..;%2500/admin                 allow  deny   deny   deny   deny
/admin;%00                        allow  400    400    400    400
/x/..%00/admin                    allow  400    400    400    400
/x/.;/..;%00/admin                allow  deny   deny   deny   deny
/x?%00                            allow  allow  allow  allow  allow
/admin?%00                        deny   deny   deny   deny   deny
https://web.shop/admin            deny   deny   deny   deny   deny
http://web.shop/%61dmin           allow  deny   deny   deny   deny
http://web.shop\admin             400    400    400    400    400
/admin%00                         allow  400    400    400    400
/admin%00/x                       allow  400    400    400    400
/%00/../admin                     allow  400    400    400    400
/admin%20                         allow  allow  allow  allow  allow
/admin%0a                         allow  allow  allow  allow  allow
/admin%0d%0a                      allow  allow  allow  allow  allow
/admin%09                         allow  allow  allow  allow  allow
/admin%7f                         allow  allow  allow  allow  allow
/admin%c0%af                      allow  allow  allow  allow  allow
/x/%c0%ae%c0%ae/admin             allow  allow  allow  allow  allow
/admin%u002f                      allow  allow  allow  allow  allow
/admin+                           allow  allow  allow  allow  allow
/admin%2                          allow  allow  allow  allow  allow
/admin%zz                         allow  allow  allow  allow  allow
/%admin                           allow  allow  allow  allow  allow
/admin~                           allow  allow  allow  allow  allow
/admin%7e                         allow  allow  allow  allow  allow
/admin|x                          allow  allow  allow  allow  allow
/admin^                           allow  allow  allow  allow  allow
/admin"                           allow  allow  allow  allow  allow
/admin{x}                         allow  allow  allow  allow  allow
*                                 400    400    400    400    400
admin                             400    400    400    400    400
./admin                           400    400    400    400    400
`,
  },
  "ALLOW /public/*": {
    policy: { rules: paths("/public/*") },
    rows: String.raw`
/public                           deny   deny   deny   deny   deny
/public/                          allow  allow  allow  allow  allow
/public/x                         allow  allow  allow  allow  allow
/publicx                          deny   deny   deny   deny   deny
/PUBLIC/x                         deny   deny   deny   deny   deny
/public?x                         deny   deny   deny   deny   deny
/public/?x                        allow  allow  allow  allow  allow
//public/x                        deny   deny   deny   allow  allow
/public//x                        allow  allow  allow  allow  allow
/public//../admin                 allow  allow  allow  allow  allow
/public/../admin                  allow  deny   deny   deny   deny
/public/./x                       allow  allow  allow  allow  allow
/public/..                        allow  deny   deny   deny   deny
/public/../public/x               allow  allow  allow  allow  allow
/x/../public/x                    deny   allow  allow  allow  allow
/public/%2e%2e/admin              allow  deny   deny   deny   deny
/public/..%2fadmin                allow  allow  allow  allow  deny
/public%2f..%2fadmin              deny   deny   deny   deny   deny
/public/%2e%2e%2fadmin            allow  allow  allow  allow  deny
/public%2fx                       deny   deny   deny   deny   allow
/%70ublic/x                       deny   allow  allow  allow  allow
/public/%252e%252e/admin          allow  allow  allow  allow  allow
/public/%252e%252e%252fadmin      allow  allow  allow  allow  allow
/public/..;/admin                 allow  deny   deny   deny   deny
/public/..;x=1/admin              allow  deny   deny   deny   deny
/public/.;/x                      allow  allow  allow  allow  allow
/public;/x                        deny   deny   deny   deny   deny
/public;/../admin                 deny   deny   deny   deny   deny
/public/x;/../../admin            allow  deny   deny   deny   deny
/public/%2e%2e;/admin             allow  allow  allow  allow  allow
/public/..%3b/admin               allow  allow  allow  allow  allow
/public\x                         deny   allow  allow  allow  allow
/public\..\admin                  deny   deny   deny   deny   deny
/public/..\admin                  allow  deny   deny   deny   deny
/public/%5c..%5cadmin             allow  allow  allow  allow  allow
/public%5c..%5cadmin              deny   deny   deny   deny   deny
/public/#/../admin                400    400    400    400    400
/public/x#y                       400    400    400    400    400
http://web.shop/public/x          allow  allow  allow  allow  allow
http://web.shop/public/../admin   allow  deny   deny   deny   deny
http://web.shop/public/..%2fadmin allow  allow  allow  allow  deny
http://web.shop?/public/x         404    404    404    404    404
/public/x%00                      allow  400    400    400    400
/public/%c0%ae%c0%ae/admin        allow  allow  allow  allow  allow
`,
  },
  "DENY not /public/*": {
    policy: { action: "DENY", rules: [{ to: [{ operation: { notPaths: ["/public/*"] } }] }] },
    rows: String.raw`
/public/x                         allow  allow  allow  allow  allow
/x                                deny   deny   deny   deny   deny
/public/../x                      allow  deny   deny   deny   deny
/public/..%2fx                    allow  allow  allow  allow  deny
/public%2f..%2fx                  deny   deny   deny   deny   deny
/public%2fx                       deny   deny   deny   deny   allow
//public/x                        deny   deny   deny   allow  allow
/public//x                        allow  allow  allow  allow  allow
/public/..;/x                     allow  deny   deny   deny   deny
/public\..\x                      deny   deny   deny   deny   deny
/%70ublic/x                       deny   allow  allow  allow  allow
/public/%252e%252e/x              allow  allow  allow  allow  allow
/x?/public/x                      deny   deny   deny   deny   deny
/PUBLIC/x                         deny   deny   deny   deny   deny
http://web.shop/public/x          allow  allow  allow  allow  allow
`,
  },
  "ALLOW /api/{*}/read": {
    policy: { rules: paths("/api/{*}/read") },
    rows: String.raw`
/api/v1/read                      allow  allow  allow  allow  allow
/api/v1/v2/read                   deny   deny   deny   deny   deny
/api//read                        deny   deny   deny   deny   deny
/api/v1%2fv2/read                 allow  allow  allow  allow  deny
/api/%2e%2e/read                  allow  deny   deny   deny   deny
/api/v1/x/../read                 deny   allow  allow  allow  allow
/api/v1/read/                     deny   deny   deny   deny   deny
/api/v1/read?x                    allow  allow  allow  allow  allow
/api/v1//read                     deny   deny   deny   allow  allow
/api/v1;p/read                    allow  allow  allow  allow  allow
/api/v1\read                      deny   allow  allow  allow  allow
/api/..;/read                     allow  deny   deny   deny   deny
/api/a%20b/read                   allow  allow  allow  allow  allow
`,
  },
  "DENY /files/{**}": {
    policy: { action: "DENY", rules: paths("/files/{**}") },
    rows: String.raw`
/files/a                          deny   deny   deny   deny   deny
/files/a/b                        deny   deny   deny   deny   deny
/files/                           deny   deny   deny   deny   deny
/files                            allow  allow  allow  allow  allow
/files//a                         deny   deny   deny   deny   deny
/files/../x                       deny   allow  allow  allow  allow
/x/../files/a                     allow  deny   deny   deny   deny
/files%2fa                        allow  allow  allow  allow  deny
/files/%2e%2e/x                   deny   allow  allow  allow  allow
/files/a%2f..%2f..%2fx            deny   deny   deny   deny   allow
/files\a                          allow  deny   deny   deny   deny
/files/..;/x                      deny   allow  allow  allow  allow
//files/a                         allow  allow  allow  deny   deny
`,
  },
  "DENY *.key": {
    policy: { action: "DENY", rules: paths("*.key") },
    rows: String.raw`
/tls.key                          deny   deny   deny   deny   deny
/a/tls.key                        deny   deny   deny   deny   deny
/tls.key/                         allow  allow  allow  allow  allow
/tls.KEY                          allow  allow  allow  allow  allow
/tls%2ekey                        allow  deny   deny   deny   deny
/tls.key?x                        deny   deny   deny   deny   deny
/tls.key;x                        allow  allow  allow  allow  allow
/tls.ke%79                        allow  deny   deny   deny   deny
/tls.key%00                       allow  400    400    400    400
/tls.key/..                       allow  allow  allow  allow  allow
/tls.key/.                        allow  allow  allow  allow  allow
/tls.key/x/..                     allow  allow  allow  allow  allow
/tls.%6bey                        allow  deny   deny   deny   deny
/tls.key%2f                       allow  allow  allow  allow  allow
/tls.key#                         400    400    400    400    400
/x?tls.key                        allow  allow  allow  allow  allow
`,
  },
  "DENY /a%2Fb, //c": {
    policy: { action: "DENY", rules: paths("/a%2Fb", "//c") },
    rows: String.raw`
/a%2Fb                            deny   deny   deny   deny   allow
/a%2fb                            allow  allow  allow  allow  allow
/a/b                              allow  allow  allow  allow  allow
//c                               deny   deny   deny   allow  allow
/c                                allow  allow  allow  allow  allow
///c                              allow  allow  allow  allow  allow
/a%252Fb                          allow  allow  allow  allow  allow
`,
  },
};
