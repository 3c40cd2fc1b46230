// The interface for a browser session: its actions, checks and reports. All texts in targets, snapshots, outcomes
// and evidence come from the page. They are untrusted and limited in length.

/** An element, described in a way that allows it to be found again after the page has changed. */
export interface Target {
  readonly role: string;
  readonly name: string;
  /**
   * The role and name of the nearest dialog, form, row, list item or other part of the page. Example: `form "Sign in"`.
   */
  readonly within: string | null;
  readonly label: string | null;
  readonly placeholder: string | null;
  readonly text: string | null;
  readonly test_id: string | null;
  /**
   * Whether the element deletes, removes or pays. If so, it is searched for only in the recorded part of the page, and
   * never by `only_such_role`.
   */
  readonly is_destructive: boolean;
}

/**
 * How an element was found. All values except the first mean that the page has changed since the target was recorded.
 * `elsewhere` means that role and name match, but outside the recorded part of the page.
 */
export type FoundBy = 'role_and_name' | 'elsewhere' | 'label' | 'placeholder' | 'text' | 'test_id' | 'only_such_role';

/** The element to act on: a `ref` from the last snapshot, or a recorded target. */
export type Place = { readonly ref: string } | { readonly target: Target };

export type PageAction =
  /** `path` is a path, or a URL on the app's own origin. Anything else is `not_possible`. */
  | { readonly action: 'open'; readonly path: string }
  | { readonly action: 'click'; readonly place: Place; readonly confirms?: Confirms }
  /**
   * Replaces the field's contents. `submit` presses Enter afterwards. A `secret` is typed only on the app's own origin
   * and, if the element was not found as recorded, only into a password field.
   */
  | {
      readonly action: 'type';
      readonly place: Place;
      readonly text: string;
      readonly submit: boolean;
      readonly secret?: boolean;
      readonly confirms?: Confirms;
    }
  /** `option` is the option's visible text or its value. */
  | { readonly action: 'select'; readonly place: Place; readonly option: string; readonly confirms?: Confirms }
  | { readonly action: 'resize'; readonly width: number; readonly height: number }
  /** `not_possible` if the check does not hold within 15 s. */
  | { readonly action: 'wait'; readonly check: Check };

/**
 * Whether the recorded action led to a browser question (`confirm()`) that was answered with OK. If the element is
 * found as recorded, every question is answered with OK. Otherwise, a question that was not recorded is answered with
 * Cancel and the action is `not_possible`, because a different element may ask about something else.
 */
export type Confirms = boolean | undefined;

/** Evaluated until the check holds or the deadline passes. */
export type Check =
  | { readonly kind: 'visible' | 'hidden'; readonly place: Place }
  /**
   * A null `place` means anywhere on the page. Case and spaces are ignored. For `text`, a number does not match within
   * a longer number: `8.50` is not in `18.50`.
   */
  | { readonly kind: 'text' | 'no_text'; readonly text: string; readonly place: Place | null }
  /** A field's contents. */
  | { readonly kind: 'value'; readonly place: Place; readonly value: string }
  /** The number of visible elements with this role, and with this name if it is not null. */
  | { readonly kind: 'count'; readonly role: string; readonly name: string | null; readonly count: number }
  | { readonly kind: 'url'; readonly contains: string }
  /** Nothing is wider than the window, and no control is cut off. */
  | { readonly kind: 'fits' };

export type ActionOutcome =
  | {
      readonly outcome: 'done';
      /** The action's target before the action. Null for actions without a place. */
      readonly target: Target | null;
      /** Null if the place was a `ref`, or if the action has no place. */
      readonly found_by: FoundBy | null;
      /** The element found in place of the recorded target. Null if the element was found by `role_and_name`. */
      readonly now: Target | null;
      /** Whether a browser question was answered with OK. */
      readonly confirmed: boolean;
    }
  | {
      readonly outcome: 'not_found' | 'ambiguous' | 'not_possible';
      /** A sentence that describes the problem and what can be done about it. */
      readonly why: string;
    };

export interface CheckOutcome {
  readonly holds: boolean;
  /** A description of the page's state, at most 300 characters. */
  readonly seen: string;
  /** The element at the check's place. Null if the check has no place, or if the element was not found. */
  readonly target: Target | null;
}

/** `step` is the number passed to the last `beginStep`, or 0 before the first. */
export interface PageMessage {
  readonly text: string;
  readonly step: number;
}

export interface NetworkFailure {
  /** For the app's own origin, only the path. The query is omitted, because it may contain secrets. */
  readonly url: string;
  readonly method: string;
  /** Null if there was no response. */
  readonly status: number | null;
  /** `HTTP 500`, or the reason why there was no response, such as `net::ERR_CONNECTION_REFUSED`. */
  readonly reason: string;
  readonly step: number;
}

/** A request by which one step created the same record more than once. */
export interface RepeatedRequest {
  /** The URL, in the same form as in NetworkFailure. */
  readonly url: string;
  readonly method: string;
  /** The number of records that were created. */
  readonly count: number;
  readonly step: number;
}

export interface Evidence {
  /** Errors written to the console by the page, or by the browser about the page. */
  readonly console_errors: readonly PageMessage[];
  /** Uncaught exceptions and unhandled rejections. */
  readonly page_errors: readonly PageMessage[];
  /**
   * Responses with a status of 400 or above, and requests without a response. Identical failures are listed once.
   * Requests that we blocked are listed only in `blocked`.
   */
  readonly network_failures: readonly NetworkFailure[];
  /** Requests that were repeated immediately with the same content, and that each created a separate record. */
  readonly repeated_requests: readonly RepeatedRequest[];
  /** Dialogs that were answered, and downloads and windows that were refused. These are not faults. */
  readonly notes: readonly PageMessage[];
  /** Hosts that the page tried to reach but that are not allowed. */
  readonly blocked: readonly string[];
  /** Whether the page has used up the session's network limits, which makes later requests fail. */
  readonly exhausted: boolean;
  /** Whether there were more faults than are listed. 4xx responses and notes do not count. */
  readonly cut: boolean;
}

export interface Snapshot {
  readonly url: string;
  readonly title: string;
  /** The accessibility tree with refs. If the tree was cut, the last line says so. */
  readonly tree: string;
}

export interface BrowserSession {
  readonly processId: number;
  /** Invalidates earlier snapshots' refs. `maxLength` is in characters, 20,000 by default. */
  snapshot(maxLength?: number): Promise<Snapshot>;
  /** Rejects with SessionGone if the browser has exited, and with the signal's reason if the signal is aborted. */
  act(action: PageAction, signal: AbortSignal): Promise<ActionOutcome>;
  /** `timeoutMs` is 5,000 by default. 0 evaluates the check once. */
  check(check: Check, signal: AbortSignal, timeoutMs?: number): Promise<CheckOutcome>;
  /** A JPEG of the window's contents, at most 1280 × 1024. */
  screenshot(): Promise<Buffer>;
  evidence(): Evidence;
  /** From now on, attributes the page's messages and requests to this step. */
  beginStep(number: number): void;
  /** Waits at most 3 s until the page has come to rest, so the last step's errors are recorded. */
  settle(): Promise<void>;
  /**
   * Ends the trace and returns it as a zip that Playwright's viewer can open. Returns undefined if there is no trace or
   * it is larger than 20 MiB.
   */
  endTrace(): Promise<Buffer | undefined>;
  /** Kills all of the browser's processes. Resolves when they have exited. */
  close(): Promise<void>;
  /** Resolves when the browser has exited or its page has crashed. Never rejects. */
  readonly gone: Promise<'crashed' | 'closed'>;
}

/** Thrown if the browser has exited or its page has crashed, so the session can no longer be used. */
export class SessionGone extends Error {}

export interface SessionRequest {
  /** A UUID. The profile folder's name contains it, which identifies the session's processes. */
  readonly id: string;
  /** The session's owner, such as a workspace. Owners take turns. */
  readonly owner: string;
  /** The published app's address. `open` can open only pages on its origin. */
  readonly url: string;
  /** Other origins that the app needs, such as the API's. They may be private. */
  readonly alsoAllowed: readonly string[];
  /** Cancels waiting and starting. A session that has already been opened is not ended. */
  readonly signal: AbortSignal;
}

export type OpenedSession =
  | { readonly outcome: 'opened'; readonly session: BrowserSession }
  | {
      readonly outcome: 'unavailable';
      /** `busy` means that other sessions occupy all of this process's places. */
      readonly reason: 'not_configured' | 'not_started' | 'busy' | 'cancelled';
    };

export interface HostSession {
  readonly id: string;
  readonly processIds: readonly number[];
}

export interface BrowserSessions {
  readonly configured: boolean;
  /** Opens a session with an empty page. The first action must be `open`. */
  open(request: SessionRequest): Promise<OpenedSession>;
  /** Lists sessions that have processes on this host, regardless of which process started them. */
  listOnHost(): Promise<readonly HostSession[]>;
  /** Resolves when all of the session's processes have exited. */
  killOnHost(id: string): Promise<void>;
  /** Closes all of this process's sessions. */
  close(): Promise<void>;
}

export interface SessionSettings {
  /** The path of Chromium or Chrome. Undefined if not configured. */
  readonly executable: string | undefined;
  /** Starts Chromium without its sandbox, for machines that do not support it. */
  readonly noSandbox: boolean;
  /** Receives the reason why the browser crashed or did not start, for the log. */
  readonly onFailure: (outcome: 'not_started' | 'crashed', why: string) => void;
}
