-- Each request is one of another caller: BENCH_CALLERS names a file with a line "TOKEN APP" for each.
local callers = {}

function init()
  for line in io.lines(os.getenv("BENCH_CALLERS")) do
    local token, app = string.match(line, "(%S+) (%S+)")
    callers[#callers + 1] = wrk.format("GET", "/api/apps/" .. app, { ["authorization"] = "Bearer " .. token })
  end
end

local n = 0
function request()
  n = n % #callers + 1
  return callers[n]
end
