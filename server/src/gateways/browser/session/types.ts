// Owns what a browser session is to its callers: what can be done in a page, what can be checked, and what is reported. All
// texts of targets, snapshots, outcomes and evidence come from the page: they are data, not to be trusted, and bounded.

/** An element, described so that it can be found again after the page has changed. */
export interface Target {
  readonly role: string;
  readonly name: string;
  /** Role and name of the nearest dialog, form, row, list item or main part: `form "Sign in"`. */
  readonly within: string | null;
  readonly label: string | null;
  readonly placeholder: string | null;
  readonly text: string | null;
  readonly test_id: string | null;
  /** Deletes, removes, pays…: it is only found in the recorded part of the page, and never by `only_such_role`. */
  readonly is_destructive: boolean;
}

/**
 * How an element was found. All but the first mean that the page has changed since the target was recorded: `elsewhere` is by role
 * and name, but not in the recorded part of the page.
 */
export type FoundBy = 'role_and_name' | 'elsewhere' | 'label' | 'placeholder' | 'text' | 'test_id' | 'only_such_role';

/** Where to act: a `ref` of the last snapshot, or a recorded target. */
export type Place = { readonly ref: string } | { readonly target: Target };

export type PageAction =
  /** `path` is a path, or a URL of the app's own origin. Everything else is `not_possible`. */
  | { readonly action: 'open'; readonly path: string }
  | { readonly action: 'click'; readonly place: Place; readonly confirms?: Confirms }
  /**
   * Replaces what the field contains. `submit` presses Enter afterwards. A `secret` is only typed on the app's own origin, and
   * only into a password field if the element was not found as it was recorded.
   */
  | {
      readonly action: 'type';
      readonly place: Place;
      readonly text: string;
      readonly submit: boolean;
      readonly secret?: boolean;
      readonly confirms?: Confirms;
    }
  /** `option` is the text that a person sees, or the value. */
  | { readonly action: 'select'; readonly place: Place; readonly option: string; readonly confirms?: Confirms }
  | { readonly action: 'resize'; readonly width: number; readonly height: number }
  /** `not_possible` if the check does not hold until the deadline, 15 s. */
  | { readonly action: 'wait'; readonly check: Check };

/**
 * Whether the recorded action was followed by a question of the browser, `confirm()`, which was answered with OK. If its element is
 * found as it was recorded, every question is. Otherwise one that was not recorded is answered with Cancel, and the action is
 * `not_possible`: another element may ask about something else.
 */
export type Confirms = boolean | undefined;

/** Evaluated until it holds, or the deadline passes. */
export type Check =
  | { readonly kind: 'visible' | 'hidden'; readonly place: Place }
  /**
   * `place` null: anywhere on the page. Compared without regard to case and spaces. A number that is looked for is not found in
   * a longer one: `8.50` is not in `18.50`.
   */
  | { readonly kind: 'text' | 'no_text'; readonly text: string; readonly place: Place | null }
  /** What a field contains. */
  | { readonly kind: 'value'; readonly place: Place; readonly value: string }
  /** How many visible elements have this role, and this name if it is not null. */
  | { readonly kind: 'count'; readonly role: string; readonly name: string | null; readonly count: number }
  | { readonly kind: 'url'; readonly contains: string }
  /** Nothing is wider than the window, and no control is cut off. */
  | { readonly kind: 'fits' };

export type ActionOutcome =
  | {
      readonly outcome: 'done';
      /** What was acted on, as it was before the action. Null for actions without a place. */
      readonly target: Target | null;
      /** Null if the place was a `ref`, or the action has no place. */
      readonly found_by: FoundBy | null;
      /** What was found in place of the recorded target, if it was not found by `role_and_name`. */
      readonly now: Target | null;
      /** A question of the browser was answered with OK. */
      readonly confirmed: boolean;
    }
  | {
      readonly outcome: 'not_found' | 'ambiguous' | 'not_possible';
      /** A sentence that says what is wrong and what can be done. */
      readonly why: string;
    };

export interface CheckOutcome {
  readonly holds: boolean;
  /** What was found, at most 300 characters. */
  readonly seen: string;
  /** The element of the check's place. Null if the check has none, or the element was not found. */
  readonly target: Target | null;
}

/** `step` is the number of the last `beginStep`, 0 before the first. */
export interface PageMessage {
  readonly text: string;
  readonly step: number;
}

export interface NetworkFailure {
  /** Of the app's own origin only the path. Without its query, which may contain secrets. */
  readonly url: string;
  readonly method: string;
  /** Null if there was no answer. */
  readonly status: number | null;
  /** `HTTP 500`, or why there was no answer: `net::ERR_CONNECTION_REFUSED`. */
  readonly reason: string;
  readonly step: number;
}

/** One step created the same record several times. */
export interface RepeatedRequest {
  /** As that of a NetworkFailure. */
  readonly url: string;
  readonly method: string;
  /** How many records were created. */
  readonly count: number;
  readonly step: number;
}

export interface Evidence {
  /** What the page, or the browser about it, wrote to the console as an error. */
  readonly console_errors: readonly PageMessage[];
  /** Exceptions and rejected promises that nobody caught. */
  readonly page_errors: readonly PageMessage[];
  /**
   * Answers of 400 and above, and requests without an answer, equal ones once. Requests that were refused by us are in `blocked`
   * only.
   */
  readonly network_failures: readonly NetworkFailure[];
  /** Sent again at once with the same content, and each created a record of its own. */
  readonly repeated_requests: readonly RepeatedRequest[];
  /** Dialogs that were answered, downloads and windows that were refused. They are no faults. */
  readonly notes: readonly PageMessage[];
  /** Hosts that the page asked for and that are not allowed. */
  readonly blocked: readonly string[];
  /** The page has used all that a session may use of the network: requests after that failed. */
  readonly exhausted: boolean;
  /** There were more faults than are listed. Requests that were answered with 4xx, and notes, do not count. */
  readonly cut: boolean;
}

export interface Snapshot {
  readonly url: string;
  readonly title: string;
  /** The accessibility tree with refs. If it was cut, its last line says so. */
  readonly tree: string;
}

export interface BrowserSession {
  readonly processId: number;
  /** Refs of an earlier snapshot are no longer good. `maxLength` in characters, 20,000 if it is not given. */
  snapshot(maxLength?: number): Promise<Snapshot>;
  /** Rejects with SessionGone if the browser is gone, and with the signal's reason if it is aborted. */
  act(action: PageAction, signal: AbortSignal): Promise<ActionOutcome>;
  /** `timeoutMs` 5,000 if it is not given. 0: evaluated once. */
  check(check: Check, signal: AbortSignal, timeoutMs?: number): Promise<CheckOutcome>;
  /** A JPEG of what the window shows, at most 1280 × 1024. */
  screenshot(): Promise<Buffer>;
  evidence(): Evidence;
  /** What the page says and requests from now on belongs to this step. */
  beginStep(number: number): void;
  /** Waits until the page has come to rest, at most 3 s, so that the last step's errors are noted. */
  settle(): Promise<void>;
  /** Ends the trace (a zip that Playwright's viewer opens). Undefined if there is none, or it has more than 20 MiB. */
  endTrace(): Promise<Buffer | undefined>;
  /** Kills the browser with all its processes. Resolves when they are gone. */
  close(): Promise<void>;
  /** Resolves when the browser is gone, or its page has crashed. Never rejects. */
  readonly gone: Promise<'crashed' | 'closed'>;
}

/** The browser is gone, or its page crashed, so nothing more can be done in this session. */
export class SessionGone extends Error {}

export interface SessionRequest {
  /** A UUID. It is part of the name of the profile folder, so that processes can be told by it. */
  readonly id: string;
  /** Whose session it is, such as a workspace. Owners take turns. */
  readonly owner: string;
  /** The published app. Its origin is the only one that `open` goes to. */
  readonly url: string;
  /** Other origins that the app needs and that may be private, such as the API's. */
  readonly alsoAllowed: readonly string[];
  /** Cancels waiting and starting. It does not end a session that was opened. */
  readonly signal: AbortSignal;
}

export type OpenedSession =
  | { readonly outcome: 'opened'; readonly session: BrowserSession }
  | {
      readonly outcome: 'unavailable';
      /** `busy`: other sessions take all the places of this process. */
      readonly reason: 'not_configured' | 'not_started' | 'busy' | 'cancelled';
    };

export interface HostSession {
  readonly id: string;
  readonly processIds: readonly number[];
}

export interface BrowserSessions {
  readonly configured: boolean;
  /** The session shows an empty page: the first action is `open`. */
  open(request: SessionRequest): Promise<OpenedSession>;
  /** Sessions that have a process on this host, of whichever process started them. */
  listOnHost(): Promise<readonly HostSession[]>;
  /** Resolves when the processes of the session are gone. */
  killOnHost(id: string): Promise<void>;
  /** Closes all sessions of this process. */
  close(): Promise<void>;
}

export interface SessionSettings {
  /** Chromium or Chrome. Undefined: not configured. */
  readonly executable: string | undefined;
  /** Starts Chromium without its sandbox, for machines that do not allow it. */
  readonly noSandbox: boolean;
  /** For the log: why the browser did not start, or crashed. */
  readonly onFailure: (outcome: 'not_started' | 'crashed', why: string) => void;
}
