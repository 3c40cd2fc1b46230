// The types for checked definitions (docs/api/workflows.md#definitions). `parseDefinition` creates a definition
// from the source that a caller sent. Runs, diagrams and analyses use only these types.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON value. Each string that consists entirely of `${ … }` is an expression and is replaced with its value. */
export type Template = Json;

/** The text of a jq expression, without `${ … }`. */
export type Expression = string;

export interface Definition {
  /** The SHA-256 of the definition's canonical JSON, as 64 hex digits. */
  readonly versionId: string;
  readonly name: string;
  readonly tasks: readonly Task[];
  /** All tasks, keyed by path. */
  readonly tasksByPath: ReadonlyMap<string, Task>;
  /** The names of all secrets that the expressions read. */
  readonly secretNames: readonly string[];
  /** The entities that the definition names literally rather than through expressions. */
  readonly entityNames: readonly string[];
}

export type Task = CallTask | SetTask | SwitchTask | DoTask | ForTask | TryTask | RaiseTask | WaitTask | EmitTask;

interface CommonTask {
  readonly name: string;
  /** A JSON pointer into the definition, such as `/do/2/notify/try/0/post`. */
  readonly path: string;
  /** The task is skipped if this is null or false. */
  readonly if?: Expression;
  /** `input.from`, which turns the raw input into the task's input. */
  readonly inputFrom?: Template;
  /** `output.as`, which turns the raw output into the task's output. */
  readonly outputAs?: Template;
  /** `export.as`, which turns the output into the new `$context`. */
  readonly exportAs?: Template;
  /** `timeout.after`. */
  readonly timeoutMs?: number;
  /** Where the run continues after this task. Defaults to `continue`. */
  readonly then?: Then;
}

/** Another task in the same list, the next task, the end of the list, or the end of the run. */
export type Then = { readonly task: string } | 'continue' | 'exit' | 'end';

export interface HttpCall {
  readonly call: 'http';
  readonly method: Template;
  readonly endpoint: Template;
  readonly headers?: Template;
  readonly query?: Template;
  readonly body?: Template;
  readonly output: 'content' | 'response';
}

export interface EntityCall {
  readonly call: 'entity.create' | 'entity.get' | 'entity.list' | 'entity.update' | 'entity.delete';
  readonly entity: Template;
  readonly id?: Template;
  readonly data?: Template;
  readonly query?: Template;
  readonly limit?: Template;
  readonly asUser?: Template;
}

export interface AgentCall {
  readonly call: 'agent.send';
  readonly agentId: Template;
  readonly content: Template;
}

export interface ConnectorCall {
  readonly call: 'connector.request';
  readonly integrationType: Template;
  readonly method: Template;
  readonly path: Template;
  readonly query?: Template;
  readonly body?: Template;
}

export type CallTask = CommonTask & { readonly type: 'call' } & (HttpCall | EntityCall | AgentCall | ConnectorCall);

export type SetTask = CommonTask & { readonly type: 'set'; readonly set: Template };

export interface SwitchCase {
  readonly name: string;
  /** If absent, this case applies when no earlier case does. */
  readonly when?: Expression;
  readonly then: Then;
}
export type SwitchTask = CommonTask & { readonly type: 'switch'; readonly cases: readonly SwitchCase[] };

export type DoTask = CommonTask & { readonly type: 'do'; readonly tasks: readonly Task[] };

export type ForTask = CommonTask & {
  readonly type: 'for';
  /** The item variable's name. Defaults to `item`. */
  readonly each: string;
  readonly in: Expression;
  /** The index variable's name. Defaults to `index`. */
  readonly at: string;
  readonly while?: Expression;
  readonly tasks: readonly Task[];
};

export type ErrorType =
  | 'configuration'
  | 'validation'
  | 'expression'
  | 'authentication'
  | 'authorization'
  | 'timeout'
  | 'communication'
  | 'runtime';

export interface RetryPolicy {
  readonly delayMs: number;
  readonly backoff: 'constant' | 'linear' | 'exponential';
  /** The maximum number of retries. Defaults to 20, which is also the limit. */
  readonly maxAttempts: number;
  /** No retry starts more than this long after the first attempt started. */
  readonly maxDurationMs?: number;
  /** A random duration in this range is added to each delay. */
  readonly jitterMs?: { readonly from: number; readonly to: number };
}

export type TryTask = CommonTask & {
  readonly type: 'try';
  readonly tasks: readonly Task[];
  readonly catch: {
    /** Only errors with these properties are caught. A custom type matches errors raised with the same type. */
    readonly with?: {
      readonly type?: string;
      readonly status?: number;
      readonly title?: string;
      readonly detail?: string;
    };
    /** The error variable's name. Defaults to `error`. */
    readonly as: string;
    readonly when?: Expression;
    readonly exceptWhen?: Expression;
    readonly retry?: RetryPolicy;
    readonly tasks?: readonly Task[];
  };
};

export type RaiseTask = CommonTask & {
  readonly type: 'raise';
  readonly error: {
    readonly type: Template;
    readonly status: Template;
    readonly title?: Template;
    readonly detail?: Template;
  };
};

export type WaitTask = CommonTask & { readonly type: 'wait'; readonly waitMs: number };

export type EmitTask = CommonTask & { readonly type: 'emit'; readonly eventType: Template; readonly data: Template };

/** Why a definition or a trigger can't be used, and where the fault is. */
export interface Fault {
  /** A JSON pointer into the source, such as `/do/1/check/switch/0/open/then`. */
  readonly path: string;
  readonly code: 'definition_syntax' | 'expression_syntax';
  readonly message: string;
}
