import { reasonOf } from "@istiod/runtime";

/** Returns the code of a system error, such as `ENOENT`. */
export function errorCode(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}

/** Describes a file system error. */
export function describeError(cause: unknown): string {
  switch (errorCode(cause)) {
    case "ENOENT":
      return "does not exist";
    case "EACCES":
    case "EPERM":
      return "may not be read by this user";
    case "ENOTDIR":
      return "is not a directory";
    case "EISDIR":
      return "is a directory, expected a file";
    default:
      return `cannot be read: ${reasonOf(cause)}`;
  }
}

/** Reports whether an error means that the file does not exist. */
export function isAbsent(cause: unknown): boolean {
  const code = errorCode(cause);
  return code === "ENOENT" || code === "ENOTDIR";
}
