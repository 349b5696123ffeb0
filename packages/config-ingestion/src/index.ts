export { Ingestion, type CommitTiming, type IngestionOptions, type SourceState } from "./sources/ingestion.js";
export { type Source, type SourceUpdate } from "./sources/source.js";
export { IngestionError, type IngestionErrorCode } from "./errors.js";

export { DirectorySource, type DirectorySourceOptions } from "./sources/directory-source.js";
export { FileSource, type FileSourceOptions, meshConfigFile, meshNetworksFile } from "./sources/file-source.js";
export { loadDirectory, type LoadedDirectory } from "./sources/load-directory.js";
export { type NamedText, readObjectFiles, readOptionalFile } from "./sources/read-files.js";

export { Ledger, type Location } from "./sources/ledger.js";
export { changesEndpointsAlone } from "./sources/endpoint-changes.js";
export { type Write } from "./sources/write.js";
