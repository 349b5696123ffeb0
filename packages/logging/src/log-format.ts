/** UTC with microseconds, as in `2026-08-22T10:00:00.123456Z`: the form of Istio's logs. */
export function logTime(millisecondsSinceEpoch: number): string {
  const whole = Math.floor(millisecondsSinceEpoch);
  const micros = Math.floor((millisecondsSinceEpoch - whole) * 1000);
  return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
}

/**
 * A line of JSON as people read it, in the columns of Istio's plain form: time, level, scope, who wrote it, message,
 * what else it says as `key=value`, with tabs between, those that are missing left out. One line stays one line,
 * whatever a proxy or a file put into it; a stack follows on lines of its own.
 */
export function plainLine(json: string): string {
  const { time, level, scope, caller, msg, stack, ...rest } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const more = Object.entries(rest)
    .map(([key, value]) => `${key}=${printed(value)}`)
    .join(" ");
  const columns = [time, level, scope, caller, msg, more]
    .filter((column) => column !== undefined && column !== "")
    .map((column) => oneLine(String(column)));
  const below = typeof stack === "string" ? stack.split("\n").map((frame) => `${oneLine(frame)}\n`) : [];
  return `${columns.join("\t")}\n${below.join("")}`;
}

function printed(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Escapes control characters, which could forge lines or command a terminal, as JSON does. */
function oneLine(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) =>
    character < " "
      ? JSON.stringify(character).slice(1, -1)
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
