import type { StreamLimits } from "../limits/stream-limits.js";
import type { Sliced } from "../sliced.js";
import type { NameList, VersionList } from "../wire/names.js";
import { type ClientSource, currentSet } from "./client-source.js";
import { InitialVersions } from "./initial-versions.js";
import { NameSet } from "./name-set.js";
import { checkNames } from "./request-limits.js";
import { maxUnsharedNames, type TypeState } from "./type-state.js";

/** The names that a stream keeps of its types, within its limits and shared with the source's sets where possible. */
export class NameLists {
  readonly #types: ReadonlyMap<string, TypeState>;
  readonly #source: ClientSource;
  readonly #limits: Required<StreamLimits>;

  constructor(types: ReadonlyMap<string, TypeState>, source: ClientSource, limits: Required<StreamLimits>) {
    this.#types = types;
    this.#source = source;
    this.#limits = limits;
  }

  /** Number of names of a type that are not shared after which the limits must be checked. */
  get maxUnshared(): number {
    return maxUnsharedNames(this.#limits.unmatchedBytes);
  }

  /** Reports whether so many names of a type are not shared that the limits must be checked. */
  hasTooMany({ names }: TypeState): boolean {
    return names.unshared > this.maxUnshared;
  }

  /**
   * Checks the limits after names of a type were added.
   *
   * @param before estimated size of the type's names before; default 0
   * @throws ConnectError `ResourceExhausted`
   */
  check(type: TypeState, before = 0): Sliced<void> {
    return checkNames(this.#types, type, before, this.#limits, () => currentSet(this.#source, type.typeUrl));
  }

  /** Returns the listed names as a name set, shared with the type's set where possible. */
  *names(type: TypeState, list: NameList): Sliced<NameSet> {
    if (list.size === 0) return new NameSet();
    // The names of a large list may be in a newer set, and those in neither are limited.
    const known = list.size > this.maxUnshared ? undefined : type.known;
    return yield* NameSet.of(list, known ?? currentSet(this.#source, type.typeUrl), this.maxUnshared);
  }

  /** Returns the listed versions detached from the request; undefined if there are none. */
  *versions(type: TypeState, list: VersionList): Sliced<VersionList | undefined> {
    if (list.size === 0) return undefined;
    const set = currentSet(this.#source, type.typeUrl);
    return set === undefined ? list.detach() : yield* InitialVersions.of(list, set);
  }
}
