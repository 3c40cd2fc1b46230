// Owns the reply of an agent to a single message, for workflows: with its instructions and what it remembers for everyone, but
// without a conversation. Whoever asks for it reserves the credits, and charges for it.
import { toTokens, toValidUsage } from '../../core/turns/messages.ts';
import type { LanguageModel } from '../../gateways/language-model/index.ts';
import { toStorableText } from '../../kit/text.ts';
import type { Db } from '../../tables.ts';
import { buildInstructions } from './background.ts';
import { computeCredits, estimatedReplyTokens } from './conversation.ts';
import { type AgentKey, findUsableAgent } from './store/agents.ts';
import { listSharedMemories } from './store/memories.ts';

interface Question {
  readonly model: string | null;
  readonly instructions: string;
}

/** Undefined if there is no such agent that the app may use. */
async function readQuestion(db: Db, key: AgentKey): Promise<Question | undefined> {
  const agent = await findUsableAgent(db, key);
  if (agent === undefined) return undefined;
  return { model: agent.model, instructions: buildInstructions(agent, await listSharedMemories(db, key)) };
}

export const createSingleReplies = (model: LanguageModel) => ({
  /** The credits to reserve before the agent is asked. */
  async estimate(db: Db, key: AgentKey, content: string): Promise<number | undefined> {
    const question = await readQuestion(db, key);
    return question && computeCredits(toTokens(question.instructions.length + content.length) + estimatedReplyTokens);
  },
  async reply(db: Db, key: AgentKey, content: string, signal: AbortSignal) {
    const question = await readQuestion(db, key);
    if (question === undefined) return undefined;
    const messages = [{ role: 'user', content }] as const;
    const answer = await model.reply({ ...question, messages, tools: [], signal }, () => {});
    if (answer.outcome === 'unavailable') return { unavailable: answer.reason };
    const usage = toValidUsage(answer.usage);
    const tokens =
      usage === null
        ? toTokens(question.instructions.length + content.length + answer.content.length)
        : usage.prompt_tokens + usage.completion_tokens;
    return { content: toStorableText(answer.content), credits: computeCredits(tokens) };
  },
});
