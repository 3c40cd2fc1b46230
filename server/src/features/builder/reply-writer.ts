// Owns streaming a turn to whoever follows it: the texts of its steps with an empty line between them, as they are joined when it
// has ended, and its tool calls, shortened.
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
    /** A step that is recorded already. */
    addStep({ content, tool_calls, checks, question }: StepRecord): void {
      addParagraph(content);
      for (const call of [...tool_calls, ...checks]) addCall(call);
      addParagraph(question ?? '');
    },
    end: deltas.end,
  };
}
