// The tool for viewing one of the draft's pages.
import { z } from 'zod';
import { checkPage } from '../checks/check-page.ts';
import { defineTool } from './tool.ts';

export const checkPageTool = defineTool({
  name: 'check_page',
  description:
    'Loads a page of the app in a browser, with your changes, and reports its errors and its text. Calls of data are not made there.',
  parameters: z.object({ path: z.string().startsWith('/').max(400).optional().describe('For example /about') }),
  run: async ({ path = '/' }, context) => (await checkPage(context.page, context, path)).results,
});
