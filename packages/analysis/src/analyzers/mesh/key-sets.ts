import { requestAuthenticationKind, requestAuthentications } from "@istiod/config-schema";
import { missingJwks } from "@istiod/push-context";
import { type Analyzer, rule } from "../../analyzer.js";

export const keySetAnalyzer: Analyzer = {
  name: "mesh.KeySetAnalyzer",
  description: "Checks that the keys of RequestAuthentications are available",
  codes: ["MESH0019"],
  rules: [
    rule(requestAuthenticationKind, requestAuthentications, (_, { q, key, report }) => {
      for (const {
        index,
        rule: { issuer, jwksUri },
      } of q.call(missingJwks, key)) {
        const cause =
          jwksUri === ""
            ? "the rule has neither jwks nor jwksUri, and keys are not discovered from the issuer yet"
            : "keys of a jwksUri are not fetched yet";
        const path = ["spec", "jwtRules", index, ...(jwksUri === "" ? [] : ["jwksUri"])];
        report(
          "MESH0019",
          path,
          `${cause}, so that every token of issuer ${JSON.stringify(issuer)} is rejected; give the keys inline in jwks`,
        );
      }
    }),
  ],
};
