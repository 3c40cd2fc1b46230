// Owns the types of a definition that has been checked (docs/api/workflows.md#definitions). `parseDefinition` makes one from
// what was sent; runs, diagrams and analyses read only these types.

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Any JSON. Each string in it that is wholly `${ … }` is an expression, which stands for its value. */
export type Template = Json;

/** The text of a jq expression, without `${ … }`. */
export type Expression = string;

export interface Definition {
  /** 64 hex digits: the SHA-256 of the definition in canonical form. */
  readonly versionId: string;
  readonly name: string;
  readonly tasks: readonly Task[];
  /** By their path. */
  readonly tasksByPath: ReadonlyMap<string, Task>;
  /** The secrets that any of its expressions reads. */
  readonly secretNames: readonly string[];
  /** Entities that it names, other than by an expression. */
  readonly entityNames: readonly string[];
}

export type Task = CallTask | SetTask | SwitchTask | DoTask | ForTask | TryTask | RaiseTask | WaitTask | EmitTask;

interface CommonTask {
  readonly name: string;
  /** A JSON pointer into the definition, such as `/do/2/notify/try/0/post`. */
  readonly path: string;
  /** The task is skipped if this is null or false. */
  readonly if?: Expression;
  /** `input.from`: the input of the task, made from its raw input. */
  readonly inputFrom?: Template;
  /** `output.as`: the output of the task, made from its raw output. */
  readonly outputAs?: Template;
  /** `export.as`: the new `$context`, made from the output. */
  readonly exportAs?: Template;
  /** `timeout.after`. */
  readonly timeoutMs?: number;
  /** What comes next; absent: `continue`. */
  readonly then?: Then;
}

/** A task of the same list, or: the next task, the end of the list, the end of the run. */
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
  /** Absent: the case applies if no earlier one did. */
  readonly when?: Expression;
  readonly then: Then;
}
export type SwitchTask = CommonTask & { readonly type: 'switch'; readonly cases: readonly SwitchCase[] };

export type DoTask = CommonTask & { readonly type: 'do'; readonly tasks: readonly Task[] };

export type ForTask = CommonTask & {
  readonly type: 'for';
  /** Name of the variable that has the item; default `item`. */
  readonly each: string;
  readonly in: Expression;
  /** Name of the variable that has the index; default `index`. */
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
  /** How many retries; absent: the largest that is allowed, 20. */
  readonly maxAttempts: number;
  /** No retry begins later than this after the first attempt began. */
  readonly maxDurationMs?: number;
  /** A random time between the two is added to each delay. */
  readonly jitterMs?: { readonly from: number; readonly to: number };
}

export type TryTask = CommonTask & {
  readonly type: 'try';
  readonly tasks: readonly Task[];
  readonly catch: {
    /** Only errors with these properties are caught. A type that is none of ours matches errors raised with it. */
    readonly with?: {
      readonly type?: string;
      readonly status?: number;
      readonly title?: string;
      readonly detail?: string;
    };
    /** The variable that has the error; default `error`. */
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

/** Why a definition or a trigger can't be used, and where. */
export interface Fault {
  /** A JSON pointer into what was sent, such as `/do/1/check/switch/0/open/then`. */
  readonly path: string;
  readonly code: 'definition_syntax' | 'expression_syntax';
  readonly message: string;
}
