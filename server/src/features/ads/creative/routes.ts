// The HTTP routes for ad texts, images and search themes.
import { open, readCredentials, writeCredentials } from '../../../core/auth/credentials.ts';
import { appAs, appViewerOrDenied } from '../../../core/auth/guards/app.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { anyone } from '../../../core/auth/guards/visitor.ts';
import { perMinute, unlimited } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import { media } from '../../../kit/http/operation.ts';
import { findAsset } from '../store/assets.ts';
import { type AcceptDeps, acceptAsset, resumeAcceptance } from './accept.ts';
import {
  AcceptedAsset,
  AssetLists,
  AssetQuery,
  AssetRequest,
  GeneratedAssets,
  LibraryAsset,
  SearchThemes,
  ThemeRequest,
} from './contract.ts';
import { getAdImage, imageType } from './image.ts';
import { type LibraryDeps, listAssets } from './library.ts';
import { assetPrices, generateAssets, resumeSession, type SessionDeps } from './session.ts';
import { askForThemes, suggestSearchThemes, type ThemeDeps, themesPrice } from './themes.ts';

export type CreativeDeps = SessionDeps &
  ThemeDeps &
  LibraryDeps &
  AcceptDeps & { readonly objectStorage: ObjectStorage };

const assetGuard = nestedResource(appAs('editor'), 'asset', findAsset, 'session_asset_id');

export const creativeRoutes = (deps: CreativeDeps): Route[] => [...generationRoutes(deps), ...libraryRoutes(deps)];

const generationRoutes = (deps: CreativeDeps): Route[] => [
  route({
    name: 'suggestSearchThemes',
    method: 'POST',
    path: '/api/apps/{app_id}/ads-platform/suggestions/search-themes',
    summary: 'Suggest search themes for a Performance Max campaign; nothing is saved',
    description:
      'The themes are in the language of `Accept-Language`, or in English. If the language model is unavailable, the list is empty, with `X-Partial-Result: search_themes`. The request costs 0.1 credits, or nothing if the list is empty.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(20, 'caller+app'),
    stores: 3_000,
    work: 'outside',
    effect: 'spend',
    prices: [themesPrice],
    idempotency: 'optional',
    heldSeconds: 30,
    body: ThemeRequest,
    audits: 'nothing',
    answers: { 200: SearchThemes },
    refusals: [
      { status: 402, code: 'credits_exhausted' },
      { status: 402, code: 'credit_limit_reached' },
    ],
    precheck: ({ db, access, body, headers, now }) =>
      askForThemes(db, deps, access, { sent: body, acceptLanguage: headers['accept-language'] }, now),
    handle: ({ db }, suggested) => suggestSearchThemes(db, deps, suggested),
  }),
  route({
    name: 'generateAssets',
    method: 'POST',
    path: '/api/apps/{app_id}/ads-platform/assets/generate',
    summary: 'Generate the texts and images of ads for an app',
    description:
      'The request waits for at most 30 seconds. Images that are not ready by then are counted in `background_image_count`; the `session` list of listAssets contains all images once the last one is ready. The request costs 2 credits, and 0.5 for each image.',
    credentials: writeCredentials,
    access: appAs('editor'),
    limit: perMinute(5, 'caller+app'),
    stores: 'measured',
    effect: 'spend',
    prices: assetPrices,
    needsWorker: true,
    idempotency: 'optional',
    heldSeconds: 40,
    body: AssetRequest,
    audits: ['ads.assets.generated'],
    answers: { 200: GeneratedAssets },
    refusals: [
      { status: 402, code: 'credits_exhausted' },
      { status: 402, code: 'credit_limit_reached' },
      { status: 402, code: 'storage_quota_exceeded' },
      { status: 503, code: 'model_unavailable' },
      { status: 503, code: 'model_not_configured' },
    ],
    precheck: () => deps.model.readState(),
    handle: ({ db, access, body, now }, modelState) =>
      generateAssets(db, deps, access, { request: body, modelState }, now),
    resume: ({ db, access, now }, begun) => resumeSession(db, deps, access, begun, now),
  }),
];

/** Routes for assets that were generated earlier. */
const libraryRoutes = (deps: CreativeDeps): Route[] => [
  route({
    name: 'listAssets',
    method: 'GET',
    path: '/api/apps/{app_id}/ads-platform/assets',
    summary: 'List the texts and images that were generated for an app or by one generation, and those of a campaign',
    description:
      "With `session_id`, the response has the list `session`, which is empty while the generation is running and from 24 hours after it began. Without `session_id`, it has the list `library` of the 5,000 most recent assets, newest first, with `X-Truncated: true` if there are more. With `campaign_id`, it also has the list `durable` of the campaign's current assets at the ad platform, the headers `RateLimit` and `RateLimit-Policy`, and a limit of 60 requests per minute. If the caller can't see the app, the status is 403.",
    credentials: readCredentials,
    access: appViewerOrDenied,
    limit: unlimited,
    work: 'patient',
    query: AssetQuery,
    headers: ['X-Partial-Result', 'X-Truncated'],
    answers: { 200: AssetLists },
    heldSeconds: 15,
    refusals: [
      { status: 404, code: 'campaign_not_found' },
      { status: 429, code: 'rate_limited' },
      { status: 503, code: 'ad_platform_unavailable' },
    ],
    handle: ({ db, access, query, now }) => listAssets(db, deps, access, query, now),
  }),
  route({
    name: 'acceptAsset',
    method: 'POST',
    path: '/api/apps/{app_id}/ads-platform/assets/{session_asset_id}/accept',
    summary: 'Add a generated text or image to a Performance Max campaign',
    description:
      'Returns 200 once the ad platform has the asset. After 409 `ad_platform_timeout`, Plinth keeps trying until the platform answers. No asset is added twice.',
    credentials: writeCredentials,
    access: assetGuard,
    limit: perMinute(30, 'caller+app'),
    stores: 1_500,
    work: 'outside',
    needsWorker: true,
    idempotency: 'optional',
    repeat: 'safe',
    heldSeconds: 60,
    body: AcceptedAsset,
    audits: { sometimes: ['ads.campaign.asset_accepted'] },
    answers: { 200: LibraryAsset },
    refusals: [
      { status: 400, code: 'platform_rejected' },
      { status: 404, code: 'campaign_not_found' },
      { status: 409, code: 'asset_processing' },
      { status: 409, code: 'asset_unusable' },
      { status: 409, code: 'campaign_not_on_platform' },
      { status: 409, code: 'campaign_removed' },
      { status: 409, code: 'ad_platform_timeout' },
      { status: 503, code: 'ad_platform_unavailable' },
    ],
    handle: ({ db, access, body, now }) => acceptAsset(db, deps, access, body, now),
    resume: ({ db, access, body, now }, begun) => resumeAcceptance(db, deps, access, { body, begun }, now),
  }),
  route({
    name: 'getAdImage',
    method: 'GET',
    path: '/api/ads-platform/images/{file}',
    parameterTexts: {
      file: { text: 'The file name in `image_url`.', example: '4f1c9a2e7b30d8564f1c9a2e7b30d8564f1c9a2e.jpg' },
    },
    summary: 'Fetch a generated image',
    description:
      'The address is the `image_url` of an image. It needs no credential, so the ad platform can fetch it. The name of an image cannot be guessed.',
    credentials: open,
    access: anyone,
    limit: perMinute(300, 'address'),
    work: 'outside',
    headers: ['ETag'],
    answers: {
      200: media(imageType, 'The image, as JPEG'),
      304: media('application/octet-stream', 'Not modified since this `ETag`'),
    },
    refusals: [{ status: 404, code: 'asset_not_found' }],
    handle: ({ params, headers }) => getAdImage(deps.objectStorage, params.file, headers),
  }),
];
