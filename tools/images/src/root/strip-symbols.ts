/** Offsets in the header and in the program headers of 64-bit ELF files, in bytes. Source: elf(5). */
const HEADER = { class: 4, data: 5, phoff: 32, shoff: 40, phentsize: 54, phnum: 56, shnum: 60, shstrndx: 62 } as const;
const SEGMENT = { offset: 8, fileSize: 32 } as const;
const ELF64_LITTLE_ENDIAN = [2, 1];

/**
 * Returns an executable without what is never loaded: symbol tables and debug information. It ends behind its last
 * segment, and has no table of sections, which only linkers and debuggers read.
 *
 * @throws Error if it is not a little-endian 64-bit ELF file
 */
export function stripSymbols(executable: Buffer): Buffer {
  const { class: elfClass, data } = HEADER;
  const isElf = executable.subarray(0, 4).equals(Buffer.from("\x7fELF"));
  if (!isElf || executable[elfClass] !== ELF64_LITTLE_ENDIAN[0] || executable[data] !== ELF64_LITTLE_ENDIAN[1])
    throw new Error("not a little-endian 64-bit ELF file");
  const count = executable.readUInt16LE(HEADER.phnum);
  const size = executable.readUInt16LE(HEADER.phentsize);
  const table = Number(executable.readBigUInt64LE(HEADER.phoff));
  let end = table + count * size;
  for (let at = table; at < table + count * size; at += size) {
    const offset = Number(executable.readBigUInt64LE(at + SEGMENT.offset));
    end = Math.max(end, offset + Number(executable.readBigUInt64LE(at + SEGMENT.fileSize)));
  }
  const stripped = Buffer.from(executable.subarray(0, end));
  stripped.writeBigUInt64LE(0n, HEADER.shoff);
  stripped.writeUInt16LE(0, HEADER.shnum);
  stripped.writeUInt16LE(0, HEADER.shstrndx);
  return stripped;
}
