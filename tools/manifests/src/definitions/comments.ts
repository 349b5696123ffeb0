import type { DescField, DescFile, DescMessage } from "@bufbuild/protobuf";

/** Numbers of fields in descriptor.proto, of which the paths of locations consist. */
const MESSAGES_OF_FILE = 4;
const FIELDS_OF_MESSAGE = 2;
const MESSAGES_OF_MESSAGE = 3;

const commentsByFile = new WeakMap<DescFile, ReadonlyMap<string, string>>();

/** Returns the first paragraph of the comment before a message or field as one line, or `undefined` without comment. */
export function commentOf(element: DescMessage | DescField): string | undefined {
  const message = element.kind === "message" ? element : element.parent;
  const path = pathOf(message);
  if (element.kind === "field") path.push(FIELDS_OF_MESSAGE, message.fields.indexOf(element));
  const paragraph = commentsOf(message.file)
    .get(path.join("."))
    ?.trim()
    .split(/\n\s*\n/)[0];
  return paragraph === undefined || paragraph === "" ? undefined : paragraph.split(/\s+/).join(" ");
}

function pathOf(message: DescMessage): number[] {
  const { parent, file } = message;
  if (!parent) return [MESSAGES_OF_FILE, file.messages.indexOf(message)];
  // Descriptors omit the types of map entries, which paths count.
  const index = parent.proto.nestedType.indexOf(message.proto);
  return [...pathOf(parent), MESSAGES_OF_MESSAGE, index];
}

function commentsOf(file: DescFile): ReadonlyMap<string, string> {
  let comments = commentsByFile.get(file);
  if (!comments) {
    const locations = file.proto.sourceCodeInfo?.location ?? [];
    comments = new Map(locations.map(({ path, leadingComments }) => [path.join("."), leadingComments]));
    commentsByFile.set(file, comments);
  }
  return comments;
}
