// Chooses the proto files that are generated, and removes from them what has no effect at run time.

/** Files that are wanted whether or not another file imports them. Superseded versions of Envoy's API are not. */
const roots = [
  /^(contrib\/)?envoy\/(?!annotations\/|.*\/v2(alpha)?\d?\/)/,
  /^(xds|udpa)\/(?!annotations\/)/,
  /^google\/(rpc\/status|api\/expr\/v1alpha1\/(syntax|checked))\.proto$/,
];
/** Files whose only content is options. */
const annotations =
  /^(validate|udpa\/annotations|xds\/annotations|envoy\/annotations)\/|^google\/api\/annotations\.proto$/;
/** Files that are part of the runtime of the messages. */
const wellKnown = /^google\/protobuf\//;

/**
 * Returns the wanted files and what they import, without annotations such as validation rules and the packages of other
 * languages, every file after those that it imports.
 *
 * @throws Error where an imported file is missing
 */
export function selectFiles(descriptors) {
  const files = new Map(descriptors.map((file) => [file.name, file]));
  const selected = new Set();
  const add = (name, importer) => {
    const file = files.get(name);
    if (file === undefined) throw new Error(`${importer} imports ${name}, which no module has`);
    if (selected.has(file)) return;
    strip(file);
    for (const each of file.dependency) if (!wellKnown.test(each)) add(each, name);
    selected.add(file);
  };
  for (const name of [...files.keys()].sort()) if (roots.some((root) => root.test(name))) add(name);
  return [...selected];
}

function strip(file) {
  const kept = file.dependency.map((name) => !annotations.test(name));
  const moved = (indices) => indices.filter((i) => kept[i]).map((i) => kept.slice(0, i).filter(Boolean).length);
  file.publicDependency = moved(file.publicDependency);
  file.weakDependency = moved(file.weakDependency);
  file.dependency = file.dependency.filter((_, i) => kept[i]);
  file.options = undefined;
  for (const service of file.service) for (const each of [service, ...service.method]) stripOptions(each);
  file.enumType.forEach(stripEnum);
  file.messageType.forEach(stripMessage);
}

function stripMessage(message) {
  for (const each of [message, ...message.field, ...message.oneofDecl]) stripOptions(each);
  message.enumType.forEach(stripEnum);
  message.nestedType.forEach(stripMessage);
}

function stripEnum(type) {
  for (const each of [type, ...type.value]) stripOptions(each);
}

/** Removes custom options. Those of protobuf itself, such as `packed` and `map_entry`, stay. */
function stripOptions(element) {
  if (element.options !== undefined) delete element.options.$unknown;
}
