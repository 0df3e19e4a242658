# accept_all in the place of the agent, in its control group: it ends as the agent does, without rules. See accept_all.rs.
trap 'kill $child; wait $child; nft flush ruleset; exit 0' TERM
/host/files/accept_all wlan0 3600 &
child=$!
wait $child
