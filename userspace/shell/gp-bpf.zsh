#compdef gp-bpf
# zsh completion for gp-bpf: what may stand next is asked of gp-bpf itself.
_gp-bpf() {
	local -a lines closed open last
	local line word text program=${(Q)words[1]}
	local -i at
	[[ $program != '~/'* ]] || program=$HOME/${program#??}
	lines=("${(@f)$("$program" completion words -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
	(( $#lines )) && [[ $lines[-1] == :* ]] || return 1
	last=("${(@s: :)lines[-1]}")
	at=$last[2]
	text="${(j: :)last[3,-1]}"
	lines[-1]=()
	for line in "${lines[@]}"; do
		word=${line%%$'\t'*}
		word=${${word//\\/\\\\}//:/\\:}
		[[ $line != *$'\t'* ]] || word+=:${line#*$'\t'}
		if [[ ${line%%$'\t'*} == *[:=] ]]; then
			open+=("$word")
		else
			closed+=("$word")
		fi
	done
	local ret=1
	(( $#closed )) && _describe -t values value closed && ret=0
	(( $#open )) && _describe -t values value open -S '' && ret=0
	case $last[1] in
	:words) (( $#lines )) || [[ -z $text ]] || { _message -e values "$text"; ret=0 } ;;
	:file) compset -p $at && _files && ret=0 ;;
	:dir) compset -p $at && _files -/ && ret=0 ;;
	:pid) compset -p $at && _pids && ret=0 ;;
	:command)
		words=("${(@)words[at+2,-1]}")
		(( CURRENT -= at + 1 ))
		_normal && ret=0
		;;
	esac
	return ret
}
if [[ $funcstack[1] == _gp-bpf ]]; then
	_gp-bpf "$@"
else
	compdef _gp-bpf gp-bpf
fi
