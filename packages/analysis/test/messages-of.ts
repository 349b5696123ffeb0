import { recordText } from "./recorded-texts.js";
import { analyzeTexts, type Message, type TextsToAnalyze } from "@istiod/analysis";

/** Analyzes one text with one analyzer. Returns `code origin line: message` for each message. */
export function messagesOf(
  analyzer: string,
  text: string,
  options: Omit<TextsToAnalyze, "files" | "analyzers"> = {},
): readonly string[] {
  const { messages } = analyzeTexts({ files: [{ file: "in.yaml", text }], analyzers: [analyzer], ...options });
  return messages.map(
    ({ code, origin, reference, message }) => `${code} ${origin} ${reference?.replace("in.yaml:", "")}: ${message}`,
  );
}

/** Returns the messages up to the colon: code, origin and line. */
export function placesOf(...args: Parameters<typeof messagesOf>): readonly string[] {
  return messagesOf(...args).map((message) => message.slice(0, message.indexOf(": ")));
}

/** Analyzes documents that are added, as `new.yaml`, to a mesh, `mesh.yaml`. */
export function analyzeAdded(mesh: string, added: string): readonly Message[] {
  const { messages } = analyzeTexts({
    files: [
      { file: "mesh.yaml", text: mesh },
      { file: "new.yaml", text: added },
    ],
  });
  recordText([mesh, added], messages);
  return messages;
}
