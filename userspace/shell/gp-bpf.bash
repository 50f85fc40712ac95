# bash completion for gp-bpf: what may stand next is asked of gp-bpf itself.
_gp_bpf()
{
	local cur words cword lines line word kind at breaks='' gone lead i j whole program
	COMPREPLY=()
	if declare -F _init_completion >/dev/null; then
		_init_completion -n =: || return
	else
		words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]}
	fi
	[ "$cword" -gt 0 ] || return
	program=${words[0]}
	[[ ${program:0:2} != "~""/" ]] || program=$HOME/${program:2}
	mapfile -t lines < <("$program" completion words -- "${words[@]:1:cword-1}" "$cur" 2>/dev/null)
	[ "${#lines[@]}" -gt 0 ] || return
	read -r kind at _ <<<"${lines[-1]}"
	unset 'lines[-1]'
	# What readline puts in begins behind the last of these.
	[[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
	[[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
	gone=
	[[ -z $breaks || $cur != *[$breaks]* ]] || gone=${cur%"${cur##*["$breaks"]}"}
	for line in "${lines[@]}"; do
		word=${line%%$'\t'*}
		word=${word#"$gone"}
		[[ $word =~ ^[[:alnum:]_./:=,@%+-]*$ ]] || printf -v word %q "$word"
		COMPREPLY+=("$word")
	done
	lead=${cur:0:at}
	lead=${lead#"$gone"}
	case $kind in
	:words)
		# shellcheck disable=SC2128 # the only one
		[ "${#COMPREPLY[@]}" -ne 1 ] || [[ $COMPREPLY != *[:=] ]] || compopt -o nospace
		;;
	:file | :dir)
		cur=${cur:at}
		compopt -o filenames
		if ! declare -F _filedir >/dev/null; then
			while IFS= read -r line; do
				COMPREPLY+=("$lead$line")
			done < <(if [ "$kind" = :dir ]; then compgen -d -- "$cur"; else compgen -f -- "$cur"; fi)
		elif [ "$kind" = :dir ]; then
			_filedir -d
		else
			_filedir
		fi
		;;
	:pid)
		mapfile -t lines < <(compgen -W "$(command ps -A -o pid= 2>/dev/null)" -- "${cur:at}")
		COMPREPLY+=("${lines[@]/#/$lead}")
		;;
	:command)
		declare -F _command_offset >/dev/null || return
		for ((i = 1, j = 1; j <= at; j++)); do
			whole=
			while [ "$whole" != "${words[j]}" ] && [ "$i" -lt "$COMP_CWORD" ]; do
				whole+=${COMP_WORDS[i++]}
			done
		done
		_command_offset "$i"
		;;
	esac
}
complete -F _gp_bpf gp-bpf
