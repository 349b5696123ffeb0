/** Selects parts of a JSON value: `true`, all of it; or fields by name. Lists are selected by their items. */
export type FieldSelection = true | SelectedFields;

/** Fields of a mapping. A mapping that is present stays present, also without any of them. */
export interface SelectedFields {
  readonly [name: string]: FieldSelection;
}
