// The messages between Plinth and the sandbox model: a chat completions request, and the reply.

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { role: string; content?: string | null }[];
  readonly tools?: readonly { function: { name: string } }[];
  readonly max_tokens?: number;
  readonly stream_options?: { include_usage?: boolean };
}

/** The model's next reply: text, or tool calls. The results of tool calls arrive with the next request. */
export interface ModelReply {
  readonly text?: string;
  readonly tool_calls?: readonly { name: string; arguments: object | string }[];
  readonly usage?: { prompt_tokens: number; completion_tokens: number } | null;
  /** Defaults to `stop`, or to `tool_calls` if the reply has tool calls. */
  readonly finish_reason?: string;
  /** Refuses the request with this HTTP status instead of replying, for example because it is too long. */
  readonly status?: 400 | 413 | 500;
}
export type Script = (request: ChatRequest) => ModelReply | Promise<ModelReply>;
