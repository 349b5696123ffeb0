/** The code of a system error, such as `ENOENT`. */
export function errorCode(cause: unknown): string | undefined {
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
}

/** Why the file system refused, for a person. */
export function reason(cause: unknown): string {
  switch (errorCode(cause)) {
    case "ENOENT":
      return "does not exist";
    case "EACCES":
    case "EPERM":
      return "may not be read by this user";
    case "ENOTDIR":
      return "is no directory";
    case "EISDIR":
      return "is a directory, expected a file";
    default:
      return `cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
  }
}

/** Whether an error says that there is no such file. */
export function isAbsent(cause: unknown): boolean {
  const code = errorCode(cause);
  return code === "ENOENT" || code === "ENOTDIR";
}
