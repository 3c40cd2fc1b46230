-- The requests of a block, and the waits it saw. BENCH_* in the environment say which.
local apps = {}
for id in string.gmatch(os.getenv("BENCH_APPS"), "%S+") do apps[#apps + 1] = id end
local kind = os.getenv("BENCH_KIND")
local entity = os.getenv("BENCH_ENTITY")
local count = tonumber(os.getenv("BENCH_RECORDS"))
local headers = {
  ["content-type"] = "application/json",
  ["authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN"),
}
math.randomseed(os.time())

function request()
  local n = math.random(count) - 1
  local base = "/api/apps/" .. apps[n % #apps + 1] .. "/entities/" .. entity
  if kind == "list" then return wrk.format("GET", base .. "?limit=50", headers) end
  local id = string.format("00000000-0000-7000-%s000-%012x", os.getenv("BENCH_ID_DIGIT"), n)
  local body = string.format('{"title":"changed %d","cost":%d}', math.random(1000000), math.random(1000))
  return wrk.format("PUT", base .. "/" .. id, headers, body)
end

function done(summary, latency, requests)
  io.write(string.format("p50 %d us\np95 %d us\n", latency:percentile(50), latency:percentile(95)))
end
