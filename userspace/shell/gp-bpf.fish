# fish completion for gp-bpf: what may stand next is asked of gp-bpf itself.
function __gp_bpf_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct | string unescape)
	or set current (commandline -ct)
	set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
	set -l lines ($program completion words -- $words[2..-1] "$current" 2>/dev/null)
	test (count $lines) -gt 0
	or return
	set -l last (string split -m 2 ' ' -- $lines[-1])
	set -l at $last[2]
	set -e lines[-1]
	test (count $lines) -gt 0
	and printf '%s\n' $lines
	set -l lead (string sub -l $at -- "$current")
	set -l rest (string sub -s (math $at + 1) -- "$current")
	switch $last[1]
		case :file
			__fish_complete_path "$rest" | string replace -r '^' -- "$lead"
		case :dir
			__fish_complete_directories "$rest" '' | string replace -r '^' -- "$lead"
		case :pid
			__fish_complete_pids | string replace -r '^' -- "$lead"
		case :command
			set -l command $words[(math $at + 2)..-1]
			complete -C (string join ' ' -- (string escape -- $command) "$current")
	end
end
complete -c gp-bpf -f -a '(__gp_bpf_complete)'
