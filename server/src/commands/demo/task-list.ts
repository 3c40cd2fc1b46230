// Owns the task list of the demo: built by talking to the assistant, published, open for people to sign up, and with work that it
// does by itself.
import type { DemoRequest } from './request.ts';
import { addTaskWork } from './task-workflow.ts';

/**
 * Requires a model that builds it: the sandbox's plays this conversation. A worker must be running. `receiverUrl`: the receiver of
 * the sandbox. Without it the task list has no workflow and no automation.
 */
export async function buildTaskList(request: DemoRequest, receiverUrl: string | undefined): Promise<void> {
  const { id } = await request<{ id: string }>('POST', '/api/apps', { name: 'Task list' });
  const app = `/api/apps/${id}`;
  const { status } = await request<{ status: { state: string; message: string } }>('POST', `${app}/chat/message`, {
    content: 'A task list with owners',
  });
  if (status.state !== 'ready') throw new Error(`demo data: the assistant built no app: ${status.message}`);
  await request('PATCH', `${app}/auth/settings`, { sign_up: 'open' });
  await request('POST', `${app}/deploy`);
  if (receiverUrl !== undefined) await addTaskWork(request, app, receiverUrl);
}
