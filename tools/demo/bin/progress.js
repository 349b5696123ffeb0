const TERMINAL_INTERVAL = 500;
const LOG_INTERVAL = 10_000;

/**
 * Shows that something takes its time: on a terminal one line in place, else a line now and then.
 *
 * @param {string} what
 * @param {NodeJS.WriteStream} [output]
 * @returns {{ detail(text: string): void, stop(): void }} `stop` clears the line of a terminal
 */
export function startProgress(what, output = process.stdout) {
  const from = Date.now();
  let detail = "";
  const show = () => {
    const seconds = Math.round((Date.now() - from) / 1000);
    const line = `${what}${[detail, `${seconds} s`].filter((part) => part !== "").join(", ")}`;
    output.write(output.isTTY ? `\r\x1b[K${line.slice(0, (output.columns || 80) - 1)}` : `${line}\n`);
  };
  if (!output.isTTY) output.write(`${what.trimEnd()}\n`);
  const timer = setInterval(show, output.isTTY ? TERMINAL_INTERVAL : LOG_INTERVAL);
  if (output.isTTY) show();
  return {
    detail: (text) => void (detail = text),
    stop() {
      clearInterval(timer);
      if (output.isTTY) output.write("\r\x1b[K");
    },
  };
}
