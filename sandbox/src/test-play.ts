// The structure of a browser test's recorded play: tool calls that identify elements by role and name.

export interface RecordedElement {
  readonly role: string;
  readonly name: string;
  /** Text in the same row or section of the page, if several elements have this name. */
  readonly near?: string;
}

export interface RecordedCall {
  readonly name: 'open' | 'click' | 'type' | 'select' | 'resize' | 'wait' | 'assert';
  /** Recorded in place of a `ref`. */
  readonly element?: RecordedElement & {
    /** The element's names in other versions of the app. */
    readonly or?: readonly RecordedElement[];
  };
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface TestPlay {
  /** Matched against the flow's goal. */
  readonly goalPattern: RegExp;
  readonly calls: readonly RecordedCall[];
  /** The flow to propose for an app with this entity. */
  readonly proposal?: { readonly entity: string; readonly name: string; readonly goal: string; readonly role: string };
}
