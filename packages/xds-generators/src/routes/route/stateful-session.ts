import type { Any } from "@bufbuild/protobuf/wkt";
import { StatefulSessionPerRouteSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/stateful_session/v3/stateful_session";
import { CookieBasedSessionStateSchema } from "@istiod/envoy-api/envoy/extensions/http/stateful_session/cookie/v3/cookie";
import { HeaderBasedSessionStateSchema } from "@istiod/envoy-api/envoy/extensions/http/stateful_session/header/v3/header";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import type { Service } from "@istiod/service-discovery";
import { packAny } from "../../envoy/any.js";

export const statefulSessionFilter = "envoy.filters.http.stateful_session";

/** The key by which sessions of a service persist. */
export interface SessionKey {
  readonly by: "cookie" | "header";
  /** `name` or `name:path` of a cookie; name of a header. */
  readonly value: string;
}

/**
 * Returns how sessions with a service persist, by its labels; undefined if they do not, or if the feature is disabled.
 */
export function sessionKeyOf(q: QueryContext, { labels }: Pick<Service, "labels">): SessionKey | undefined {
  if (!features.persistentSessionFilter(q)) {
    return undefined;
  }
  const cookie = labels[features.persistentSessionLabel(q)] ?? "";
  const header = labels[features.persistentSessionHeaderLabel(q)] ?? "";
  if (cookie !== "") {
    return { by: "cookie", value: cookie };
  }
  return header === "" ? undefined : { by: "header", value: header };
}

/** Returns the session filter's configuration for a route or a virtual host. Cookies are session cookies. */
export function sessionConfig({ by, value }: SessionKey): Any {
  const sessionState =
    by === "cookie"
      ? cookieState(value)
      : {
          name: "envoy.http.stateful_session.header",
          typedConfig: packAny(HeaderBasedSessionStateSchema, { name: value }),
        };
  return packAny(StatefulSessionPerRouteSchema, { override: { case: "statefulSession", value: { sessionState } } });
}

function cookieState(value: string) {
  const colon = value.indexOf(":");
  const [name, path] = colon < 0 ? [value, "/"] : [value.slice(0, colon), value.slice(colon + 1)];
  return {
    name: "envoy.http.stateful_session.cookie",
    typedConfig: packAny(CookieBasedSessionStateSchema, { cookie: { name, path } }),
  };
}
