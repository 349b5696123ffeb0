# Runs one command in the background, at the lowest priority, while others run. For bash.

# Starts a command: start_in_background LIMIT COMMAND [ARGUMENT...]. After the limit, as of timeout(1), it is killed with
# all processes that it started, and also when the shell exits.
start_in_background() {
  background_limit=$1
  background_output=$(mktemp)
  nice -n 19 timeout --kill-after=10s "$@" >"$background_output" 2>&1 </dev/null &
  background_process=$!
  trap 'kill "$background_process" 2>/dev/null || true; rm -f "$background_output"' EXIT
}

# Waits for the command, prints its output, and returns its exit status.
await_background() {
  local status=0
  wait "$background_process" || status=$?
  cat "$background_output"
  if ((status == 124 || status == 137)); then echo "killed after $background_limit"; fi
  rm -f "$background_output"
  trap - EXIT
  return "$status"
}
