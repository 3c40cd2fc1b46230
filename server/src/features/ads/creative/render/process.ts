// Runs as a process of its own: draws the images that it is sent, one after the other. It decodes files of strangers with native
// code: if it crashes nothing else does, and its owner ends it if an image takes too long. It is not a sandbox: it has no environment of
// its own, but the rights of the user that runs the worker.
import { setPriority } from 'node:os';
import { createCanvas } from '@napi-rs/canvas';
import { imageSizes } from '../slots.ts';
import { colourOf, parseHex } from './colours.ts';
import { drawAd } from './draw.ts';
import { readLogo } from './logo.ts';
import type { RenderAnswer, RenderRequest } from './renderer.ts';

const quality = 92;

async function render(request: RenderRequest) {
  const size = imageSizes[request.slot];
  const logo = request.logo && (await readLogo(Buffer.from(request.logo)));
  const accent = request.accent === null ? undefined : parseHex(request.accent);
  const colour = logo?.colour ?? accent ?? colourOf(request.app_id);
  const canvas = createCanvas(size.width, size.height);
  drawAd(canvas.getContext('2d'), { ...request, ...size, colour, logo: logo?.image });
  return { image: await canvas.encode('jpeg', quality), hasLogo: logo !== undefined };
}

setPriority(10); // requests come first
process.on('message', async (request: RenderRequest) => {
  const answer: RenderAnswer = await render(request).then(
    (drawn) => ({ ...drawn, rssBytes: process.memoryUsage.rss() }),
    (error) => ({ error: String(error), rssBytes: process.memoryUsage.rss() }),
  );
  process.send?.(answer);
});
