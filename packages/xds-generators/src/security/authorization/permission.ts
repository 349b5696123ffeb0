import { create } from "@bufbuild/protobuf";
import { type Permission, PermissionSchema } from "@istiod/envoy-api/envoy/config/rbac/v3/rbac";

export type { Permission };

/** Returns an RBAC permission by the name of its field. */
export function permission<C extends NonNullable<Permission["rule"]["case"]>>(
  kind: C,
  value: Extract<Permission["rule"], { case: C }>["value"],
): Permission {
  return create(PermissionSchema, { rule: { case: kind, value } as Permission["rule"] });
}

export const anyPermission = permission("any", true);

export function everyPermission(rules: readonly Permission[]): Permission {
  return create(PermissionSchema, { rule: { case: "andRules", value: { rules: [...rules] } } });
}

export function somePermission(rules: readonly Permission[]): Permission {
  return create(PermissionSchema, { rule: { case: "orRules", value: { rules: [...rules] } } });
}

export function notPermission(rule: Permission): Permission {
  return permission("notRule", rule);
}
