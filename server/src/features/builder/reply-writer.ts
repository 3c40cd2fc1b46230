// Streams a turn to its readers: the steps' texts, separated by blank lines as in the final message, and
// shortened tool calls.
import type { DeltaWriter } from '../../core/turns/delta-writer.ts';
import type { ToolCall } from '../../core/turns/deltas.ts';
import { type StepRecord, shortenCall } from './step.ts';

export type ReplyWriter = ReturnType<typeof createReplyWriter>;

export function createReplyWriter(deltas: DeltaWriter) {
  let hasText = false;
  let isParagraphStart = true;
  const addText = (text: string): void => {
    if (text === '') return;
    deltas.add({ text: hasText && isParagraphStart ? `\n\n${text}` : text });
    hasText = true;
    isParagraphStart = false;
  };
  const endParagraph = (): void => {
    isParagraphStart = true;
  };
  const addParagraph = (text: string): void => {
    addText(text);
    endParagraph();
  };
  const addCall = (call: ToolCall): void => deltas.add({ tool_call: shortenCall(call) });
  return {
    addText,
    endParagraph,
    addParagraph,
    addCall,
    /** Adds a step that is already recorded. */
    addStep({ content, tool_calls, checks, question }: StepRecord): void {
      addParagraph(content);
      for (const call of [...tool_calls, ...checks]) addCall(call);
      addParagraph(question ?? '');
    },
    end: deltas.end,
  };
}
